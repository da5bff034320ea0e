//! Where the service found what the model says.

use super::field::message;
use super::repeated::Repeated;

message! {
    /// What the model's words rest on.
    pub struct GroundingMetadata {
        /// What was searched for.
        pub web_search_queries: Repeated<String> = "webSearchQueries",
        /// What was found.
        pub grounding_chunks: Repeated<GroundingChunk> = "groundingChunks",
    }
    known "groundingSupports" "searchEntryPoint" "retrievalMetadata" "retrievalQueries" "imageSearchQueries"
        "sourceFlaggingUris" "googleMapsWidgetContextToken"
}

message! {
    /// One thing that was found.
    pub struct GroundingChunk {
        /// A web page.
        pub web: Option<WebChunk> = "web",
    }
    known "retrievedContext" "maps" "image"
}

message! {
    /// A web page that was found.
    pub struct WebChunk {
        /// Where.
        pub uri: Option<String> = "uri",
        /// What it is called.
        pub title: Option<String> = "title",
        /// Whose it is.
        pub domain: Option<String> = "domain",
    }
}

message! {
    /// The web pages that the service read.
    pub struct UrlContextMetadata {
        /// One of them each.
        pub url_metadata: Repeated<UrlMetadata> = "urlMetadata",
    }
}

message! {
    /// A web page that the service tried to read.
    pub struct UrlMetadata {
        /// Where.
        pub retrieved_url: Option<String> = "retrievedUrl",
        /// Such as `URL_RETRIEVAL_STATUS_SUCCESS`.
        pub url_retrieval_status: Option<String> = "urlRetrievalStatus",
    }
}
