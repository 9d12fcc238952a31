import LaneRules
import Lanes
import Model

// Log texts for a lane's events: one fixed sentence per event, and its details.

extension LaneEvent {
    package var sentence: String {
        switch self {
        case .connected: "A lane has connected to its provider"
        case .dialFailed: "A lane could not connect to its provider"
        case .tlsRefused: "TLS handshake with the provider failed"
        case .goAway: "Provider is closing a connection"
        case .credentialRefused: "The provider refuses a lane's credential"
        case .credentialSuspected: "The provider refused a young provider token: trying it again on a new connection"
        case .connectionLost: "A connection to the provider was lost"
        case .recovered: "A lane can send again"
        }
    }

    /// The event's details; empty if the sentence is complete.
    package var text: String {
        switch self {
        case .connected, .recovered: ""
        case .dialFailed(let fault, let detail), .connectionLost(let fault, let detail):
            detail.isEmpty ? fault.text : "\(fault.text): \(detail)"
        case .tlsRefused(let detail): detail
        case .goAway(let reason): reason ?? ""
        case .credentialRefused(let reason), .credentialSuspected(let reason): reason
        }
    }

    /// Whether `text` is the provider's reason alone.
    var isProvidersReason: Bool {
        switch self {
        case .goAway, .credentialRefused, .credentialSuspected: true
        case .connected, .dialFailed, .tlsRefused, .connectionLost, .recovered: false
        }
    }

    /// The text after "can't be reached".
    var outageReason: String {
        if case .dialFailed(.unreachable, let detail) = self, !detail.isEmpty { detail } else { text }
    }

    /// Why a lane can't send, if this was its latest event.
    package var cause: LaneCause {
        switch self {
        case .tlsRefused: .tlsRefused
        case .credentialRefused: .credentialRefused
        case .connected, .dialFailed, .goAway, .credentialSuspected, .connectionLost, .recovered: .unreachable
        }
    }
}

extension LaneCause {
    /// The log's sentence for pushes of a route that wait.
    var waitSentence: String {
        switch self {
        case .credentialUnknown: "Pushes wait: no usable credential covers their route"
        case .tokenMissing: "Pushes wait: their credential gets no token"
        case .credentialUnusable, .credentialPending: "Pushes wait: their credential can't be opened"
        case .credentialRefused: "Pushes wait: the provider refuses their credential"
        case .topicRefused: "Pushes wait: the provider refuses their topic"
        case .topicMissing: "Pushes wait: they name no topic, and their credential has several"
        case .unreachable, .tlsRefused: "Pushes wait: the provider can't be reached"
        case .throttled: "Pushes wait: the provider throttles"
        }
    }
}

extension TransportFault {
    package var text: String {
        switch self {
        case .unreachable: "the provider can't be reached"
        case .tlsRefused: "the TLS handshake failed"
        case .refusedStream: "the provider refused the stream"
        case .goAway: "the provider closed the connection"
        case .streamReset(let code): "the provider reset the stream with code \(code)"
        case .connectionLost: "the connection broke"
        case .deadlinePassed: "no answer came in time"
        case .protocolViolation: "the provider violated HTTP/2"
        case .withdrawn: "the request was withdrawn"
        }
    }
}

extension ProviderAlarm {
    /// The hint for the operator.
    package var text: String {
        switch self {
        case .credential:
            "the certificate, key, account, topic or project is misconfigured, was revoked, or has expired"
        case .clock: "it considers our provider token too old or too new: check this machine's clock"
        case .keyShared: "our key's provider tokens change too often: another program probably signs with the same key"
        case .ourRequest: "it rejects a request as malformed, which no setting can cause: report it, with the reason"
        }
    }
}
