import Signing

// Refusals of credentials that could not be used.
extension ProblemCode {
    static let credentials = ProblemChapter(
        "A credential that could not be used",
        [
            keyIDMalformed, teamIDMalformed, keyUnreadable, keyEncrypted, derivationTooLong, certificateUnreadable,
            passwordWrong, keyDoesNotMatchCertificate, certificateExpired, certificateNotYetValid,
            environmentNotCovered, topicNotCovered, certificateNamesNoTopic, tokenURIPrivate,
        ])

    package static let keyIDMalformed = ProblemCode(
        "key_id_malformed", 422, "The key id is malformed",
        cause: "a key id has 10 letters and digits.",
        remedy: "take it from the file's name, `AuthKey_<key id>.p8`.")

    package static let teamIDMalformed = ProblemCode(
        "team_id_malformed", 422, "The team id is malformed",
        cause: "a team id has 10 letters and digits.",
        remedy: "take it from the membership page of Apple's developer account.")

    package static let keyUnreadable = ProblemCode(
        "key_unreadable", 422, "The key can't be read",
        cause: """
            `p8` is not a PEM private key on the curve P-256, or the `private_key` of a service account is not \
            an RSA key in PEM of 2,048 to 8,192 bits. Or the key of a certificate is neither an RSA key of at \
            most 8,192 bits nor one on P-256, P-384 or P-521.
            """,
        remedy: """
            send the file's text as Apple gave it, with its line breaks; of a service account, the file as \
            Google gave it.
            """)

    package static let keyEncrypted = ProblemCode(
        "key_encrypted", 422, "The key is encrypted",
        cause:
            "`p8`, or the `private_key` of a service account, is encrypted. No password is taken for either.",
        remedy: "send the file as Apple or Google gave it; theirs are never encrypted.")

    package static let derivationTooLong = ProblemCode(
        "derivation_too_long", 422, "The file asks for too much key derivation",
        cause: """
            `pem` or `pkcs12` asks for more than \(DerivationBudget.roundsMax) rounds of key derivation, all its encrypted \
            parts together. For scrypt, N times r times p counts as rounds.
            """,
        remedy: """
            export the file again with the default of your tool, for example `openssl pkcs12 -export`, which \
            asks for 2,048 rounds.
            """)

    package static let certificateUnreadable = ProblemCode(
        "certificate_unreadable", 422, "The certificate can't be read",
        cause: "no certificate with its private key was found in `pem` or `pkcs12`.",
        remedy: "export certificate and key together.")

    package static let passwordWrong = ProblemCode(
        "password_wrong", 422, "The password does not open the file",
        cause: "the PKCS#12 file does not open with `password`.",
        remedy: "send the password that the file was exported with.")

    package static let keyDoesNotMatchCertificate = ProblemCode(
        "key_does_not_match_certificate", 422, "Key and certificate don't belong together",
        cause: "the private key is another one than the certificate's.",
        remedy: "export both from the same keychain entry.")

    package static let certificateExpired = ProblemCode(
        "certificate_expired", 422, "The certificate has expired",
        cause: "its last day is over.",
        remedy: "request a new one from Apple, or use a token key, which does not expire.")

    package static let certificateNotYetValid = ProblemCode(
        "certificate_not_yet_valid", 422, "The certificate is not valid yet",
        cause: "its first day has not come, or this machine's clock is wrong.",
        remedy: "wait, or set the clock.")

    package static let environmentNotCovered = ProblemCode(
        "environment_not_covered", 422, "The certificate does not cover the environment",
        cause: "a development certificate for production, or the reverse.",
        remedy: "hand it in for the environment that it was made for.")

    package static let topicNotCovered = ProblemCode(
        "topic_not_covered", 422, "The certificate does not cover the topic",
        cause: """
            `topics` names a topic that the certificate does not list. A certificate for VoIP alone covers \
            `com.example.app.voip` and not `com.example.app`.
            """,
        remedy: "leave `topics` out; a certificate says itself which it covers.")

    package static let certificateNamesNoTopic = ProblemCode(
        "certificate_names_no_topic", 422, "The certificate names no topic",
        cause: "it is a certificate for something else than APNs.",
        remedy: "request an Apple Push Services certificate for the app's bundle id.")

    package static let tokenURIPrivate = ProblemCode(
        "token_uri_private", 422, "The token_uri leads to a private address",
        cause: """
            the service account's `token_uri` is not https, or leads to this machine or its network; an \
            address in another form than the usual one (`127.1`, `0x7f000001`) counts as such.
            """,
        remedy: """
            Google's is `https://oauth2.googleapis.com/token`. For a stand-in, let the operator set \
            `CARILLON_ALLOW_PRIVATE_TARGETS=true`.
            """)
}
