//! Counts of tokens.

use recount_text::json::Number;

use super::field::message;
use super::repeated::Repeated;

message! {
    /// How many tokens a turn took. The two platforms name the model's own share differently; both
    /// are read.
    pub struct UsageMetadata {
        /// Of what the model was given.
        pub prompt_token_count: Option<Number> = "promptTokenCount",
        /// Of that, what was kept from before.
        pub cached_content_token_count: Option<Number> = "cachedContentTokenCount",
        /// Of what the model said, as Google AI counts.
        pub response_token_count: Option<Number> = "responseTokenCount",
        /// Of what the model said, as Vertex counts.
        pub candidates_token_count: Option<Number> = "candidatesTokenCount",
        /// Of what tools gave.
        pub tool_use_prompt_token_count: Option<Number> = "toolUsePromptTokenCount",
        /// Of what the model thought.
        pub thoughts_token_count: Option<Number> = "thoughtsTokenCount",
        /// Of all.
        pub total_token_count: Option<Number> = "totalTokenCount",
        /// What the model was given, by kind.
        pub prompt_tokens_details: Repeated<ModalityTokenCount> = "promptTokensDetails",
        /// What was kept, by kind.
        pub cache_tokens_details: Repeated<ModalityTokenCount> = "cacheTokensDetails",
        /// What the model said, by kind, as Google AI counts.
        pub response_tokens_details: Repeated<ModalityTokenCount> = "responseTokensDetails",
        /// What the model said, by kind, as Vertex counts.
        pub candidates_tokens_details: Repeated<ModalityTokenCount> = "candidatesTokensDetails",
        /// What tools gave, by kind.
        pub tool_use_prompt_tokens_details: Repeated<ModalityTokenCount> = "toolUsePromptTokensDetails",
        /// Such as `standard`; Google AI only.
        pub service_tier: Option<String> = "serviceTier",
        /// Such as `ON_DEMAND`; Vertex only.
        pub traffic_type: Option<String> = "trafficType",
    }
}

impl UsageMetadata {
    /// How many tokens the model said, by whichever platform counted.
    ///
    /// ```
    /// use recount_wire::UsageMetadata;
    ///
    /// for counted in [r#"{"responseTokenCount":7}"#, r#"{"candidatesTokenCount":7}"#] {
    ///     assert_eq!(UsageMetadata::decode(counted)?.response_tokens(), Some(7));
    /// }
    /// # Ok::<(), recount_wire::DecodeError>(())
    /// ```
    #[must_use]
    pub fn response_tokens(&self) -> Option<i64> {
        let counted = self.response_token_count.as_ref();
        counted
            .or(self.candidates_token_count.as_ref())
            .and_then(Number::as_i64)
    }
}

message! {
    /// How many tokens of one kind.
    pub struct ModalityTokenCount {
        /// `TEXT`, `IMAGE`, `VIDEO`, `AUDIO` or `DOCUMENT`.
        pub modality: Option<String> = "modality",
        /// How many.
        pub token_count: Option<Number> = "tokenCount",
    }
}
