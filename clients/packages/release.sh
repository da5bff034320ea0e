#!/usr/bin/env bash
# Builds the program for every target that this machine can build, and its packages:
#
#     clients/packages/release.sh OUT [TARGET...]
#
# OUT gets an archive for each target, wheels and tarballs for npm for Linux, and SHA256SUMS. A
# target that cannot be built is skipped with the reason; a build that fails ends the script.
#
# The standard library of a target comes with the toolchain, or it is built from its sources if the
# toolchain has them and RUSTC_BOOTSTRAP=1 permits that (`cargo -Z build-std`). The linker for
# another system or processor is `cargo zigbuild`.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ $# -ge 1 ] || { echo "usage: release.sh OUT [TARGET...]" >&2; exit 2; }
out=$(realpath -m "$1")
shift
mkdir -p "$out"

known=(
    x86_64-unknown-linux-musl
    aarch64-unknown-linux-musl
    x86_64-unknown-linux-gnu
    aarch64-unknown-linux-gnu
    aarch64-apple-darwin
    x86_64-apple-darwin
    x86_64-pc-windows-gnu
)
[ $# -gt 0 ] || set -- "${known[@]}"

rustc=${RUSTC:-rustc}
host=$("$rustc" -vV | sed -n 's/^host: //p')
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

skip() { echo "-- $1 was not built: $2"; }

# Prints the arguments of cargo for the standard library of a target: std_of TARGET. Fails without
# one.
std_of() {
    if [ -n "$(find "$("$rustc" --print target-libdir --target "$1")" -name 'libstd-*' 2>/dev/null)" ]
    then
        return 0
    fi
    [ "${RUSTC_BOOTSTRAP:-}" = 1 ] || return 1
    [ -d "$("$rustc" --print sysroot)/lib/rustlib/src/rust/library" ] || return 1
    echo "-Zbuild-std=std,panic_unwind"
}

# Builds one target: build TARGET.
build() {
    local target=$1 arguments cargo=(cargo build) name=recount directory archive
    if ! arguments=$(std_of "$target"); then
        skip "$target" "its standard library is neither installed nor to be built"
        return 0
    fi
    if [ "$target" != "$host" ]; then
        if ! command -v cargo-zigbuild >/dev/null; then
            skip "$target" "there is no cargo-zigbuild to link it"
            return 0
        fi
        cargo=(cargo zigbuild)
    fi
    local flags=${RUSTFLAGS:-}
    case $target in
        # The start files and the C library are those of the linker, not of the toolchain.
        *-musl) flags="$flags -C target-feature=+crt-static -C link-self-contained=no" ;;
        *-windows-*) name=recount.exe ;;
    esac
    echo "== $target"
    RUSTFLAGS=$flags "${cargo[@]}" $arguments --release --package recount-cli --target "$target"
    directory=${CARGO_TARGET_DIR:-target}/$target/release
    archive=$out/recount-$version-$target.tar.gz
    tar --create --gzip --file "$archive" --owner 0 --group 0 \
        --directory "$(realpath "$directory")" "$name" \
        --directory "$PWD" LICENSE-MIT LICENSE-APACHE
    case $target in
        *-linux-*) packages "$target" "$directory/$name" ;;
    esac
}

# Builds the packages of a program: packages TARGET PROGRAM. A static program runs on every Linux,
# so a program that needs glibc gets none if there is a static one.
packages() {
    local processor=${1%%-*}
    case $1 in
        *-gnu) [ ! -e "$out/recount-$version-$processor-unknown-linux-musl.tar.gz" ] || return 0 ;;
    esac
    python3 clients/packages/build.py --program "$2" --out "$out"
}

for target in "$@"; do build "$target"; done
cd "$out"
shopt -s nullglob
built=(*.tar.gz *.whl *.tgz)
[ ${#built[@]} -gt 0 ] || { echo "nothing was built" >&2; exit 1; }
sha256sum -- "${built[@]}" >SHA256SUMS
cat SHA256SUMS
