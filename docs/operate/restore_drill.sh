#!/usr/bin/env bash
# A restore drill: a service with a sealed session whose call waits for an approver is backed up,
# destroyed, and restored elsewhere, where the same request is approved and the call is run once.
#
#     restore_drill.sh [DIRECTORY]
#
# It works in a new directory and touches nothing else. RECOUNT_PROGRAM names the program, otherwise
# that of PATH. SCRAPES=1 also keeps what /metrics says, as DIRECTORY/metrics.txt. It needs curl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# As a path, because a function of this script has the name of the program.
RECOUNT_PROGRAM=$(command -v "${RECOUNT_PROGRAM:-recount}") ||
    { echo "expected the program recount in PATH, found none" >&2; exit 1; }
export RECOUNT_PROGRAM
place=${1:-$(mktemp -d)}
mkdir -p "$place"
cd "$place"
service=
trap '[ -z "$service" ] || kill -9 "$service" 2>/dev/null || true' EXIT

recount() { "$RECOUNT_PROGRAM" "$@"; }
fail() { echo "the drill failed: $*" >&2; exit 1; }

# The first text or number of a key in JSON on standard input: text KEY, number KEY.
text() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d '"' -f 4; }
number() { grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2; }

# Starts the service of a directory, and sets service and url: serve DIRECTORY.
serve() {
    touch "$1/ready.json"
    "$RECOUNT_PROGRAM" serve --config "$1/recount.toml" --json >"$1/ready.json" 2>"$1/errors.txt" &
    service=$!
    for _ in $(seq 300); do
        url=$(text url <"$1/ready.json" || true)
        [ -z "$url" ] || return 0
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    fail "the service did not start: $(cat "$1/errors.txt")"
}

# Sends a request, and prints the body of a success: request METHOD PATH [BODY] [HEADER].
request() {
    curl --silent --show-error --fail-with-body --max-time 60 --request "$1" "$url$2" \
        --header "Authorization: Bearer $token" --header "Content-Type: application/json" \
        ${3:+--data "$3"} ${4:+--header "$4"}
}

# Replaces the default places, and adds an agent whose one tool is run by clients after an approval.
configure() {
    cat >>"$1/recount.toml" <<TOML

[agents.shop]

[[agents.shop.client_tools]]
name = "refund"
description = "Refunds an order"
parameters = { type = "object", properties = { order = { type = "integer" } } }
confirm = "Refund this order?"
TOML
    sed -i 's/^listen = .*/listen = "127.0.0.1:0"/' "$1/recount.toml"
}

echo "== a service with a sealed session, whose call waits for an approver"
recount init first >/dev/null
configure first
recount check --config first/recount.toml >/dev/null
token=$(recount token create drill --role admin --config first/recount.toml --json | text token)
serve first
session=$(request POST /v1/sessions '{"agent":"shop","external_id":"order-1001"}' | text session)
body='{"tool":"refund","args":{"order":1001}}'
waiting=$(request POST "/v1/sessions/$session/calls" "$body" 'Idempotency-Key: refund-of-1001')
call=$(number call <<<"$waiting")
asked=$(text request <<<"$waiting")
[ -n "$asked" ] || fail "the call does not wait for an approver: $waiting"
grep -rqF order-1001 first/recount-journal && fail "the session is not sealed"

echo "== a backup beside the running service, the keys apart from the journal"
"$here/recount-backup" first/recount-journal first/recount-keys journals keys >backup.txt
# The master key, the configuration and the hashes of the tokens are in the care of the operator.
mkdir -m 700 safe
cp first/recount-master-key first/recount.toml first/recount-tokens.json safe/

echo "== the machine is lost"
kill -9 "$service"
wait "$service" 2>/dev/null || true
service=
rm -r first

echo "== restored elsewhere"
mkdir -m 700 second
cp safe/* second/
recount restore --verify journals/* second/recount-journal
cp -R keys/* second/recount-keys
serve second
code=$(curl --silent --output /dev/null --write-out '%{http_code}' "$url/readyz")
[ "$code" = 200 ] || fail "/readyz answers $code"
pending=$(request GET /v1/pending)
grep -qF "$asked" <<<"$pending" || fail "the request $asked does not wait any more: $pending"
[ -z "${SCRAPES:-}" ] || request GET /metrics >metrics.txt

echo "== approved, claimed and run once"
request POST "/v1/requests/$asked/answer" '{"confirmed":true}' >/dev/null
claimed=$(request POST /v1/claims '{"claim":"drill-1","tools":["refund"],"wait":30}')
[ "$(number call <<<"$claimed")" = "$call" ] || fail "another call was claimed: $claimed"
finished='{"claim":"drill-1","result":{"refunded":1001}}'
request POST "/v1/sessions/$session/calls/$call/claim/finish" "$finished" >/dev/null
# The program that lost its answer repeats the call, and gets the outcome.
again=$(request POST "/v1/sessions/$session/calls" "$body" 'Idempotency-Key: refund-of-1001')
grep -qF '"refunded":1001' <<<"$again" || fail "the call did not return: $again"
kill -TERM "$service"
wait "$service" || fail "the service did not end in order: $(cat second/errors.txt)"
service=

echo "== every hash and every decision, with the keys and not without"
export RECOUNT_MASTER_KEY_FILE=$PWD/second/recount-master-key
recount verify second/recount-journal
recount replay second/recount-journal --keys second/recount-keys
code=0
recount replay second/recount-journal >/dev/null 2>&1 || code=$?
[ "$code" = 6 ] || fail "without its keys the session was read: exit code $code"
echo "== the drill has passed"
