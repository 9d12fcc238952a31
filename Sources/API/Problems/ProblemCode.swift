/// The stable code of a refusal, with the status and the title of each answer with this code.
///
/// A code is never reused for another meaning. docs/errors.md tells its cause and its remedy. The gateway serves that
/// page at `/errors`, where every problem's type points. Tests compare the codes with the page and docs/openapi.yaml.
package struct ProblemCode: RawRepresentable, Sendable {
    package let rawValue: String
    package let status: Int
    /// The title, the same for every occurrence. The detail says what differs.
    package let title: String

    private init(_ rawValue: String, _ status: Int, _ title: String) {
        (self.rawValue, self.status, self.title) = (rawValue, status, title)
    }

    package init?(rawValue: String) {
        guard let code = Self.byName[rawValue] else { return nil }
        self = code
    }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
}

extension ProblemCode: Hashable {
    package static func == (left: ProblemCode, right: ProblemCode) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension ProblemCode: CaseIterable {
    package static let allCases = [
        malformedRequest, headersTooLarge, requestTimeout, malformedJSON, jsonTooComplex, duplicateMember, invalidUTF8,
        nulCharacter, malformedPath, invalidQuery, invalidCursor, invalidIdempotencyKey, unsupportedEncoding,
        expectationFailed, bodyTooLarge, lineTooLong,
        unauthorized, forbidden, notFound, methodNotAllowed, unknownApp, unknownDevice, unknownMessage,
        unknownCredential, unknownToken, unknownFeedback, unknownKey, feedbackSwept,
        missingMember, unknownMember, wrongType, invalidValue, valueTooLong, invalidFilter, invalidTemplate,
        invalidToken, kindNotAllowed, notSupported, routeNotSupported, tooManyTopics, slugTaken, keyNameTaken,
        tooManyKeys, conflict, notARetirement, tokenReplaced, tokenMoved, messageOver, idempotencyMismatch, backlogFull,
        shareUsedUp,
        payloadTooLarge, invalidCollapseID, priorityNotAllowed, reservedKey, notForBackground, notForPushType,
        nothingToShow, badgeTwice,
        keyIDMalformed, teamIDMalformed, keyUnreadable, keyEncrypted, derivationTooLong, certificateUnreadable,
        passwordWrong, keyDoesNotMatchCertificate, certificateExpired, certificateNotYetValid, environmentNotCovered,
        topicNotCovered, certificateNamesNoTopic, tokenURIPrivate,
        databaseUnavailable, databaseBusy, outcomeUnknown, overloaded, notReady, vaultFailed, internalError,
    ]

    // The request can't be read.
    package static let malformedRequest = ProblemCode("malformed_request", 400, "The request is not HTTP/1.1")
    package static let headersTooLarge = ProblemCode("headers_too_large", 431, "The head of the request is too large")
    package static let requestTimeout = ProblemCode("request_timeout", 408, "The request arrived too slowly")
    package static let malformedJSON = ProblemCode("malformed_json", 400, "The body is not JSON")
    package static let jsonTooComplex = ProblemCode("json_too_complex", 400, "The JSON is too deep or too large")
    package static let duplicateMember = ProblemCode("duplicate_member", 400, "A member is named twice")
    package static let invalidUTF8 = ProblemCode("invalid_utf8", 400, "The body is not UTF-8")
    package static let nulCharacter = ProblemCode("nul_character", 400, "The text has a NUL character")
    package static let malformedPath = ProblemCode("malformed_path", 400, "The path can't be read")
    package static let invalidQuery = ProblemCode("invalid_query", 400, "The query can't be read")
    package static let invalidCursor = ProblemCode("invalid_cursor", 400, "The cursor is not valid")
    package static let invalidIdempotencyKey = ProblemCode(
        "invalid_idempotency_key", 400, "The Idempotency-Key is not valid")
    package static let unsupportedEncoding = ProblemCode(
        "unsupported_encoding", 415, "The body's encoding is not supported")
    package static let expectationFailed = ProblemCode("expectation_failed", 417, "The expectation is not supported")
    package static let bodyTooLarge = ProblemCode("body_too_large", 413, "The body is too large")
    package static let lineTooLong = ProblemCode("line_too_long", 413, "The line is too long")

    // Authentication, permission and resources.
    package static let unauthorized = ProblemCode("unauthorized", 401, "No valid API key")
    package static let forbidden = ProblemCode("forbidden", 403, "The API key lacks permission")
    package static let notFound = ProblemCode("not_found", 404, "No such route")
    package static let methodNotAllowed = ProblemCode("method_not_allowed", 405, "The method is not allowed")
    package static let unknownApp = ProblemCode("unknown_app", 404, "The app does not exist")
    package static let unknownDevice = ProblemCode("unknown_device", 404, "The device does not exist")
    package static let unknownMessage = ProblemCode("unknown_message", 404, "The message does not exist")
    package static let unknownCredential = ProblemCode("unknown_credential", 404, "The credential does not exist")
    package static let unknownToken = ProblemCode("unknown_token", 404, "No device has this token")
    package static let unknownFeedback = ProblemCode("unknown_feedback", 404, "The feedback entry does not exist")
    package static let unknownKey = ProblemCode("unknown_key", 404, "The API key does not exist")
    package static let feedbackSwept = ProblemCode("feedback_swept", 410, "Entries after the cursor were deleted")

    // The request is not valid.
    package static let missingMember = ProblemCode("missing_member", 422, "A member is missing")
    package static let unknownMember = ProblemCode("unknown_member", 422, "A member is unknown")
    package static let wrongType = ProblemCode("wrong_type", 422, "A value has the wrong type")
    package static let invalidValue = ProblemCode("invalid_value", 422, "A value is not allowed")
    package static let valueTooLong = ProblemCode("value_too_long", 422, "A value is too long")
    package static let invalidFilter = ProblemCode("invalid_filter", 422, "The filter is not valid")
    package static let invalidTemplate = ProblemCode("invalid_template", 422, "The template is not valid")
    package static let invalidToken = ProblemCode("invalid_token", 422, "The device token is malformed")
    package static let kindNotAllowed = ProblemCode("kind_not_allowed", 422, "The provider has no tokens of this kind")
    package static let notSupported = ProblemCode("not_supported", 422, "Not supported by this version")
    package static let routeNotSupported = ProblemCode(
        "route_not_supported", 501, "The route is not supported by this version")
    package static let tooManyTopics = ProblemCode("too_many_topics", 422, "The app has too many topics")
    package static let slugTaken = ProblemCode("slug_taken", 409, "The slug is taken")
    package static let keyNameTaken = ProblemCode("key_name_taken", 409, "Another API key has this name")
    package static let tooManyKeys = ProblemCode("too_many_keys", 409, "There are too many API keys")
    package static let conflict = ProblemCode("conflict", 409, "The request conflicts with stored data")
    package static let notARetirement = ProblemCode("not_a_retirement", 409, "The entry did not retire a token")
    package static let tokenReplaced = ProblemCode("token_replaced", 409, "The device has another token now")
    package static let tokenMoved = ProblemCode("token_moved", 409, "The token belongs to another installation now")
    package static let messageOver = ProblemCode("message_over", 409, "The message has ended")
    package static let idempotencyMismatch = ProblemCode(
        "idempotency_mismatch", 422, "The Idempotency-Key was used for another request")
    package static let backlogFull = ProblemCode("backlog_full", 429, "The app has too many unfinished messages")
    package static let shareUsedUp = ProblemCode("share_used_up", 429, "The app has too many concurrent requests")

    // The provider would refuse the message.
    package static let payloadTooLarge = ProblemCode(
        "payload_too_large", 422, "The payload is too large for the provider")
    package static let invalidCollapseID = ProblemCode("invalid_collapse_id", 422, "The collapse id is not valid")
    package static let priorityNotAllowed = ProblemCode(
        "priority_not_allowed", 422, "The push type does not allow this priority")
    package static let reservedKey = ProblemCode("reserved_key", 422, "The name is reserved")
    package static let notForBackground = ProblemCode(
        "not_for_background", 422, "A background push can't show anything")
    package static let notForPushType = ProblemCode(
        "not_for_push_type", 422, "The push type does not allow this member")
    package static let nothingToShow = ProblemCode("nothing_to_show", 422, "An alert push has nothing to show")
    package static let badgeTwice = ProblemCode("badge_twice", 422, "The badge is given twice")

    // The credential can't be used.
    package static let keyIDMalformed = ProblemCode("key_id_malformed", 422, "The key id is malformed")
    package static let teamIDMalformed = ProblemCode("team_id_malformed", 422, "The team id is malformed")
    package static let keyUnreadable = ProblemCode("key_unreadable", 422, "The key can't be read")
    package static let keyEncrypted = ProblemCode("key_encrypted", 422, "The key is encrypted")
    package static let derivationTooLong = ProblemCode(
        "derivation_too_long", 422, "The file needs too many rounds of key derivation")
    package static let certificateUnreadable = ProblemCode(
        "certificate_unreadable", 422, "The certificate can't be read")
    package static let passwordWrong = ProblemCode("password_wrong", 422, "The password is wrong")
    package static let keyDoesNotMatchCertificate = ProblemCode(
        "key_does_not_match_certificate", 422, "The key does not match the certificate")
    package static let certificateExpired = ProblemCode("certificate_expired", 422, "The certificate has expired")
    package static let certificateNotYetValid = ProblemCode(
        "certificate_not_yet_valid", 422, "The certificate is not valid yet")
    package static let environmentNotCovered = ProblemCode(
        "environment_not_covered", 422, "The certificate does not cover the environment")
    package static let topicNotCovered = ProblemCode(
        "topic_not_covered", 422, "The certificate does not cover the topic")
    package static let certificateNamesNoTopic = ProblemCode(
        "certificate_names_no_topic", 422, "The certificate names no topic")
    package static let tokenURIPrivate = ProblemCode("token_uri_private", 422, "The token_uri is a private address")

    // Errors of the gateway.
    package static let databaseUnavailable = ProblemCode("database_unavailable", 503, "The database can't be reached")
    package static let databaseBusy = ProblemCode("database_busy", 503, "The database is busy")
    package static let outcomeUnknown = ProblemCode(
        "outcome_unknown", 503, "It is unknown whether the request took effect")
    package static let overloaded = ProblemCode("overloaded", 503, "Too many requests at once")
    package static let notReady = ProblemCode("not_ready", 503, "The process is not ready")
    package static let vaultFailed = ProblemCode("vault_failed", 500, "A secret can't be decrypted")
    package static let internalError = ProblemCode("internal_error", 500, "Internal error")
}
