//! The sources of the model's answer.

use super::field::message;
use super::repeated::Repeated;

message! {
    /// The sources of the model's answer.
    pub struct GroundingMetadata {
        /// The search queries.
        pub web_search_queries: Repeated<String> = "webSearchQueries",
        /// The search results.
        pub grounding_chunks: Repeated<GroundingChunk> = "groundingChunks",
    }
    known "groundingSupports" "searchEntryPoint" "retrievalMetadata" "retrievalQueries"
          "imageSearchQueries"
        "sourceFlaggingUris" "googleMapsWidgetContextToken"
}

message! {
    /// One search result.
    pub struct GroundingChunk {
        /// A web page.
        pub web: Option<WebChunk> = "web",
    }
    known "retrievedContext" "maps" "image"
}

message! {
    /// A web page as a search result.
    pub struct WebChunk {
        /// The address.
        pub uri: Option<String> = "uri",
        /// The title.
        pub title: Option<String> = "title",
        /// The domain.
        pub domain: Option<String> = "domain",
    }
}

message! {
    /// The web pages that the service read.
    pub struct UrlContextMetadata {
        /// The status of each page.
        pub url_metadata: Repeated<UrlMetadata> = "urlMetadata",
    }
}

message! {
    /// A web page that the service tried to read.
    pub struct UrlMetadata {
        /// The address.
        pub retrieved_url: Option<String> = "retrievedUrl",
        /// The status, such as `URL_RETRIEVAL_STATUS_SUCCESS`.
        pub url_retrieval_status: Option<String> = "urlRetrievalStatus",
    }
}
