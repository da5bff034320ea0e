//! Numbers of tokens.

use recount_text::json::Number;

use super::field::message;
use super::repeated::Repeated;

message! {
    /// The numbers of tokens of a turn. The platforms have different names for the model's output;
    /// both are read.
    pub struct UsageMetadata {
        /// The number of input tokens.
        pub prompt_token_count: Option<Number> = "promptTokenCount",
        /// The number of input tokens from the cache.
        pub cached_content_token_count: Option<Number> = "cachedContentTokenCount",
        /// The number of output tokens on Google AI.
        pub response_token_count: Option<Number> = "responseTokenCount",
        /// The number of output tokens on Vertex.
        pub candidates_token_count: Option<Number> = "candidatesTokenCount",
        /// The number of tokens in tool results.
        pub tool_use_prompt_token_count: Option<Number> = "toolUsePromptTokenCount",
        /// The number of tokens in thoughts.
        pub thoughts_token_count: Option<Number> = "thoughtsTokenCount",
        /// The total number of tokens.
        pub total_token_count: Option<Number> = "totalTokenCount",
        /// The input tokens by modality.
        pub prompt_tokens_details: Repeated<ModalityTokenCount> = "promptTokensDetails",
        /// The cached tokens by modality.
        pub cache_tokens_details: Repeated<ModalityTokenCount> = "cacheTokensDetails",
        /// The output tokens by modality on Google AI.
        pub response_tokens_details: Repeated<ModalityTokenCount> = "responseTokensDetails",
        /// The output tokens by modality on Vertex.
        pub candidates_tokens_details: Repeated<ModalityTokenCount> = "candidatesTokensDetails",
        /// The tokens in tool results by modality.
        pub tool_use_prompt_tokens_details: Repeated<ModalityTokenCount> =
            "toolUsePromptTokensDetails",
        /// The service tier, such as `standard` (Google AI only).
        pub service_tier: Option<String> = "serviceTier",
        /// The traffic type, such as `ON_DEMAND` (Vertex only).
        pub traffic_type: Option<String> = "trafficType",
    }
}

impl UsageMetadata {
    /// Returns the number of output tokens on either platform.
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
    /// The number of tokens of one modality.
    pub struct ModalityTokenCount {
        /// `TEXT`, `IMAGE`, `VIDEO`, `AUDIO` or `DOCUMENT`.
        pub modality: Option<String> = "modality",
        /// The number of tokens.
        pub token_count: Option<Number> = "tokenCount",
    }
}
