import Model

/// The body of `POST /v1/apps/{app}/audience`: the members of a message that decide on its audience.
package struct AudienceCountRequest: Equatable, Sendable {
    package let audience: Audience
    package let pushType: PushType
    package let sendAt: SendHour?

    package static func read(_ body: [UInt8]) throws(Problem) -> AudienceCountRequest {
        var reader = try EnvelopeReader(body: body)
        let audience = try AudienceRequest.read(&reader)
        let (options, sendAt, _) = try MessageRequest.readOptions(&reader)
        try reader.end()
        try MessageRequest.checkKind(of: audience, options.pushType)
        return AudienceCountRequest(audience: audience, pushType: options.pushType, sendAt: sendAt)
    }
}
