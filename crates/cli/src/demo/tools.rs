//! The agent of the demo: a support desk with one tool of each kind.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{Value, json};

use recount::engine::Agent;
use recount::live::Endpoint;
use recount::tool::{T, ToolContext, ToolError, ToolFunction};

/// The name of the agent in the journal.
pub(super) const AGENT: &str = "support";

/// The tool that requires approval.
pub(super) const REFUND: &str = "refund";

/// The tool whose result comes later.
pub(super) const SHIP: &str = "ship_replacement";

/// The agent, connected to `endpoint`. Each refund adds a line to the file `witness`.
pub(super) fn agent(endpoint: &str, witness: PathBuf) -> Agent {
    let lookup = T::simple_with(
        "lookup_order",
        "Looks up an order by its id",
        order_schema(),
        |_args| async { Ok(json!({"status": "delivered", "total_cents": 4200})) },
    );
    let refund = T::confirm(Refund { witness }, "Refund money to the customer?");
    let ship = T::long_running(T::simple_with(
        SHIP,
        "Has the warehouse send the order again",
        order_schema(),
        // The warehouse answers later; the model gets nothing before.
        |_args| async { Ok(Value::Null) },
    ));
    let fee = T::simple_with(
        "charge_restocking_fee",
        "Charges the fee for taking an order back",
        order_schema(),
        |_args| async {
            Err(ToolError::ExecutionFailed(
                "the card was declined".to_owned(),
            ))
        },
    );
    Agent::new()
        .model("gemini-3.8-live")
        .instruction("You are the support desk of a shop.")
        .tools(lookup | refund | ship | fee)
        .connect_to(Endpoint::url(endpoint))
}

fn order_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    })
}

/// The refund. Each run adds a line to a file outside the journal.
struct Refund {
    witness: PathBuf,
}

#[async_trait]
impl ToolFunction for Refund {
    fn name(&self) -> &str {
        REFUND
    }

    fn description(&self) -> &str {
        "Refunds an amount of an order to the customer"
    }

    fn parameters(&self) -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer"}},
            "required": ["order_id", "amount_cents"],
        }))
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other(
            "the engine calls with a context".to_owned(),
        ))
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let order = args
            .get("order_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let cents = args
            .get("amount_cents")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let line = format!(
            "refunded order={order} cents={cents} key={}\n",
            context.idempotency_key()
        );
        let witnessed = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.witness)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        witnessed.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        Ok(json!({"refunded_cents": cents}))
    }
}
