/// The stable words of our refusals, never reused for another thing. Cause and remedy of each stand in `ErrorPage`, which
/// writes docs/errors.md.
package enum ProblemCode: String, CaseIterable, Sendable {
    // The request can't be understood.
    case malformedRequest = "malformed_request"
    case headersTooLarge = "headers_too_large"
    case requestTimeout = "request_timeout"
    case malformedJSON = "malformed_json"
    case jsonTooComplex = "json_too_complex"
    case duplicateMember = "duplicate_member"
    case invalidUTF8 = "invalid_utf8"
    case nulCharacter = "nul_character"
    case malformedPath = "malformed_path"
    case invalidQuery = "invalid_query"
    case invalidCursor = "invalid_cursor"
    case invalidIdempotencyKey = "invalid_idempotency_key"
    case unsupportedEncoding = "unsupported_encoding"
    case expectationFailed = "expectation_failed"
    case bodyTooLarge = "body_too_large"
    case lineTooLong = "line_too_long"

    // Who asks, and for what.
    case unauthorized = "unauthorized"
    case forbidden = "forbidden"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case unknownApp = "unknown_app"
    case unknownDevice = "unknown_device"
    case unknownMessage = "unknown_message"
    case unknownCredential = "unknown_credential"
    case unknownToken = "unknown_token"
    case unknownFeedback = "unknown_feedback"
    case unknownKey = "unknown_key"
    case feedbackSwept = "feedback_swept"

    // The request is understood, and asks for something that can't be.
    case missingMember = "missing_member"
    case unknownMember = "unknown_member"
    case wrongType = "wrong_type"
    case invalidValue = "invalid_value"
    case valueTooLong = "value_too_long"
    case invalidFilter = "invalid_filter"
    case invalidTemplate = "invalid_template"
    case invalidToken = "invalid_token"
    case kindNotAllowed = "kind_not_allowed"
    case notSupported = "not_supported"
    case routeNotSupported = "route_not_supported"
    case tooManyTopics = "too_many_topics"
    case slugTaken = "slug_taken"
    case keyNameTaken = "key_name_taken"
    case tooManyKeys = "too_many_keys"
    case conflict = "conflict"
    case notARetirement = "not_a_retirement"
    case tokenReplaced = "token_replaced"
    case tokenMoved = "token_moved"
    case messageOver = "message_over"
    case idempotencyMismatch = "idempotency_mismatch"
    case backlogFull = "backlog_full"
    case shareUsedUp = "share_used_up"

    // A message that its provider would refuse.
    case payloadTooLarge = "payload_too_large"
    case invalidCollapseID = "invalid_collapse_id"
    case priorityNotAllowed = "priority_not_allowed"
    case reservedKey = "reserved_key"
    case notForBackground = "not_for_background"
    case notForPushType = "not_for_push_type"
    case nothingToShow = "nothing_to_show"
    case badgeTwice = "badge_twice"

    // A credential that could not be used.
    case keyIDMalformed = "key_id_malformed"
    case teamIDMalformed = "team_id_malformed"
    case keyUnreadable = "key_unreadable"
    case keyEncrypted = "key_encrypted"
    case derivationTooLong = "derivation_too_long"
    case certificateUnreadable = "certificate_unreadable"
    case passwordWrong = "password_wrong"
    case keyDoesNotMatchCertificate = "key_does_not_match_certificate"
    case certificateExpired = "certificate_expired"
    case certificateNotYetValid = "certificate_not_yet_valid"
    case environmentNotCovered = "environment_not_covered"
    case topicNotCovered = "topic_not_covered"
    case certificateNamesNoTopic = "certificate_names_no_topic"
    case tokenURIPrivate = "token_uri_private"

    // Not the request's fault.
    case databaseUnavailable = "database_unavailable"
    case databaseBusy = "database_busy"
    case outcomeUnknown = "outcome_unknown"
    case overloaded = "overloaded"
    case notReady = "not_ready"
    case vaultFailed = "vault_failed"
    case internalError = "internal_error"
}

extension ProblemCode {
    package var status: Int {
        switch self {
        case .malformedRequest, .malformedJSON, .jsonTooComplex, .duplicateMember, .invalidUTF8, .nulCharacter,
            .malformedPath,
            .invalidQuery, .invalidCursor, .invalidIdempotencyKey:
            400
        case .requestTimeout: 408
        case .headersTooLarge: 431
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound, .unknownApp, .unknownDevice, .unknownMessage, .unknownCredential, .unknownToken,
            .unknownFeedback, .unknownKey:
            404
        case .feedbackSwept: 410
        case .methodNotAllowed: 405
        case .slugTaken, .keyNameTaken, .tooManyKeys, .conflict, .notARetirement, .tokenReplaced, .tokenMoved,
            .messageOver:
            409
        case .bodyTooLarge, .lineTooLong: 413
        case .unsupportedEncoding: 415
        case .expectationFailed: 417
        case .missingMember, .unknownMember, .wrongType, .invalidValue, .valueTooLong, .invalidFilter,
            .invalidTemplate, .invalidToken, .kindNotAllowed, .notSupported, .tooManyTopics, .idempotencyMismatch,
            .payloadTooLarge, .invalidCollapseID,
            .priorityNotAllowed,
            .reservedKey,
            .notForBackground, .notForPushType, .nothingToShow, .badgeTwice, .keyIDMalformed, .teamIDMalformed,
            .keyUnreadable, .keyEncrypted, .derivationTooLong,
            .certificateUnreadable, .passwordWrong, .keyDoesNotMatchCertificate, .certificateExpired,
            .certificateNotYetValid, .environmentNotCovered, .topicNotCovered, .certificateNamesNoTopic,
            .tokenURIPrivate:
            422
        case .backlogFull, .shareUsedUp: 429
        case .vaultFailed, .internalError: 500
        case .routeNotSupported: 501
        case .databaseUnavailable, .databaseBusy, .outcomeUnknown, .overloaded, .notReady: 503
        }
    }

    /// The same for every occurrence; what differs stands in the detail.
    package var title: StaticString {
        switch self {
        case .malformedRequest: "This is no request of HTTP"
        case .headersTooLarge: "The head of the request is too large"
        case .requestTimeout: "The request came too slowly"
        case .malformedJSON: "The body is not JSON"
        case .jsonTooComplex: "The JSON is deeper or larger than is read"
        case .duplicateMember: "A member is named twice"
        case .invalidUTF8: "The text is not UTF-8"
        case .nulCharacter: "The text has a NUL character"
        case .malformedPath: "The path can't be read"
        case .invalidQuery: "The query can't be read"
        case .invalidCursor: "The cursor is not one of ours"
        case .invalidIdempotencyKey: "The Idempotency-Key can't be used"
        case .unsupportedEncoding: "The body is encoded in a way that is not read"
        case .expectationFailed: "What the request expects is not done here"
        case .bodyTooLarge: "The body is too large"
        case .lineTooLong: "The line is too long"
        case .unauthorized: "No valid API key"
        case .forbidden: "The API key does not open this"
        case .notFound: "There is nothing here"
        case .methodNotAllowed: "This method is not served here"
        case .unknownApp: "There is no such app"
        case .unknownDevice: "There is no such device"
        case .unknownMessage: "There is no such message"
        case .unknownCredential: "There is no such credential"
        case .unknownToken: "No device has this token"
        case .unknownFeedback: "There is no such entry in the feed"
        case .unknownKey: "There is no such API key"
        case .feedbackSwept: "Entries after the cursor are gone"
        case .missingMember: "A member is missing"
        case .unknownMember: "A member is unknown"
        case .wrongType: "A value has the wrong type"
        case .invalidValue: "A value is not allowed"
        case .valueTooLong: "A value is too long"
        case .invalidFilter: "The filter can't be understood"
        case .invalidTemplate: "A text with {{ }} can't be understood"
        case .invalidToken: "The device token is malformed"
        case .kindNotAllowed: "The provider has no tokens of this kind"
        case .notSupported: "This is not offered"
        case .routeNotSupported: "This route is not served yet"
        case .tooManyTopics: "The app has too many topics"
        case .slugTaken: "The slug is taken"
        case .keyNameTaken: "Another API key has this name"
        case .tooManyKeys: "There are as many API keys as there may be"
        case .conflict: "What is stored forbids this"
        case .notARetirement: "This entry retired no token"
        case .tokenReplaced: "The device has another token now"
        case .tokenMoved: "The token lives elsewhere now"
        case .messageOver: "The message is over"
        case .idempotencyMismatch: "The Idempotency-Key came with another request before"
        case .backlogFull: "Too many messages of this app are unfinished"
        case .shareUsedUp: "The app has too much under way"
        case .payloadTooLarge: "The payload is larger than the provider takes"
        case .invalidCollapseID: "The collapse id can't be used"
        case .priorityNotAllowed: "The push type does not allow this priority"
        case .reservedKey: "The name is reserved"
        case .notForBackground: "A background push shows nothing"
        case .notForPushType: "The push type has no place for this"
        case .nothingToShow: "An alert push has nothing to show"
        case .badgeTwice: "The badge is given twice"
        case .keyIDMalformed: "The key id is malformed"
        case .teamIDMalformed: "The team id is malformed"
        case .keyUnreadable: "The key can't be read"
        case .keyEncrypted: "The key is encrypted"
        case .derivationTooLong: "The file asks for too much key derivation"
        case .certificateUnreadable: "The certificate can't be read"
        case .passwordWrong: "The password does not open the file"
        case .keyDoesNotMatchCertificate: "Key and certificate don't belong together"
        case .certificateExpired: "The certificate has expired"
        case .certificateNotYetValid: "The certificate is not valid yet"
        case .environmentNotCovered: "The certificate does not cover the environment"
        case .topicNotCovered: "The certificate does not cover the topic"
        case .certificateNamesNoTopic: "The certificate names no topic"
        case .tokenURIPrivate: "The token_uri leads to a private address"
        case .databaseUnavailable: "The database can't be reached"
        case .databaseBusy: "The database is busy"
        case .outcomeUnknown: "Whether it took effect is unknown"
        case .overloaded: "Too many requests at once"
        case .notReady: "Not ready to serve"
        case .vaultFailed: "The vault does not open"
        case .internalError: "Something is wrong on our side"
        }
    }
}
