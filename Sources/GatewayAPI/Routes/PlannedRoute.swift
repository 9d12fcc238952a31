import HTTPTypes

/// What the contract of the product has and this version does not serve: whoever asks is told so, and what to do
/// meanwhile, rather than that there is nothing. A route leaves this list when it comes. Only paths of which nothing is
/// served: elsewhere the contract's reader expects to be told which methods there are.
package enum PlannedRoute: CaseIterable, Sendable {
    case metrics
    case verifyCredential
    case rollBackCredential
    case listWebhooks
    case createWebhook
    case deleteWebhook
    case audit

    package var method: HTTPRequest.Method {
        switch self {
        case .metrics, .listWebhooks, .audit: .get
        case .verifyCredential, .rollBackCredential, .createWebhook: .post
        case .deleteWebhook: .delete
        }
    }

    package var template: String {
        switch self {
        case .metrics: "/metrics"
        case .verifyCredential: "/v1/apps/{app}/credentials/{credential}/verify"
        case .rollBackCredential: "/v1/apps/{app}/credentials/{credential}/rollback"
        case .listWebhooks, .createWebhook: "/v1/apps/{app}/webhooks"
        case .deleteWebhook: "/v1/apps/{app}/webhooks/{webhook}"
        case .audit: "/v1/audit"
        }
    }

    var problem: Problem { Problem(.routeNotSupported, "This version does not serve this. " + advice) }

    private var advice: String {
        switch self {
        case .metrics:
            "/readyz tells whether requests are carried out, GET .../messages/{id} what became of a message."
        case .verifyCredential:
            "A credential is checked when it is handed in, and proven by what it sends: carillon doctor tells."
        case .rollBackCredential: "Take the one before it back into use: POST .../credentials/{id}/activate."
        case .listWebhooks, .createWebhook, .deleteWebhook:
            "Read the feed instead: GET .../feedback, with the cursor of the page before."
        case .audit: "GET .../keys and GET .../credentials tell when each was made, and keys when they were last used."
        }
    }
}
