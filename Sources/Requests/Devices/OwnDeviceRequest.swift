import Basis
import Model

/// The registration of a user's own installation with the user's token.
package enum OwnDeviceRequest {
    /// The members that the app may give. All others are for backends.
    static let members = ["provider", "token", "environment", "topic", "locale", "time_zone", "app_version"]

    /// Reads the body of `PUT .../devices/{installation}` with a user's token.
    ///
    /// The registration names the user. Whether the installation may be the user's, the store knows.
    /// - Parameter user: the token's `sub`.
    package static func read(
        _ body: [UInt8], installation: String, user: String, now: WallInstant
    ) throws(Problem) -> DeviceRegistration {
        var reader = try EnvelopeReader(body: body)
        return try read(&reader, installation: installation, user: user, now: now)
    }

    static func read(
        _ reader: inout EnvelopeReader, installation: String, user: String, now: WallInstant
    ) throws(Problem) -> DeviceRegistration {
        if let name = reader.firstMember(besides: members) {
            throw Problem(
                .permissionDenied,
                "With a user's token a device has only \(members.joined(separator: ", ")). Leave this member out, or let "
                    + "your backend register the device.", at: reader.place(of: name))
        }
        try check(user)
        var registration = try RegistrationRequest.read(&reader, installation: installation, now: now)
        registration.profile[.user] = .set(user)
        return registration
    }

    /// Refuses a user whom no device can have (`ProfileField.user`).
    private static func check(_ user: String) throws(Problem) {
        guard !user.isEmpty, user.utf8.count <= ProfileField.user.bytesMax, RegistrationRequest.isText(user),
            !RegistrationRequest.isDots(user)
        else {
            throw Problem(
                .permissionDenied,
                "The token's sub can't be the user of a device: it is empty, is \".\" or \"..\", has control characters, "
                    + "or has more than \(ProfileField.user.bytesMax) bytes. Use another name for the user.")
        }
    }
}
