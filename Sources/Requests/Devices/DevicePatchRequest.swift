import JSON
import Model

/// The body of `PATCH .../devices/{installation}`: the profile of an installation, without its tokens.
package enum DevicePatchRequest {
    package static func read(_ body: [UInt8]) throws(Problem) -> DevicePatch {
        var reader = try EnvelopeReader(body: body)
        for name in ["provider", "token", "kind", "environment", "topic", "badge"] where reader.takeAny(name) != nil {
            throw Problem(
                .unknownMember,
                "A PATCH can't change \(name): register the token with PUT, and set badges with .../badge.",
                at: reader.pointer / name)
        }
        var patch = DevicePatch()
        // A merge patch: its own size is bounded here, and the transaction that merges it measures the result.
        patch.profile = try RegistrationRequest.readProfile(
            &reader, attributesBytesMax: RegistrationLimits.attributesPatchBytesMax)
        patch.tagsAdded = try tags("tags_add", &reader)
        patch.tagsRemoved = try tags("tags_remove", &reader)
        try reader.end()
        return patch
    }

    private static func tags(_ name: String, _ reader: inout EnvelopeReader) throws(Problem) -> [String] {
        guard let value = reader.take(name) else { return [] }
        return try RegistrationRequest.tags(value, at: reader.pointer / name)
    }
}
