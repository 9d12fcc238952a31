import Signing

extension ProblemCode {
    static let credentials = ProblemChapter(
        "The credential can't be used",
        [
            keyIDMalformed, teamIDMalformed, keyUnreadable, keyEncrypted, derivationTooLong, certificateUnreadable,
            passwordWrong, keyDoesNotMatchCertificate, certificateExpired, certificateNotYetValid,
            environmentNotCovered, topicNotCovered, certificateNamesNoTopic, tokenURIPrivate,
        ])

    package static let keyIDMalformed = ProblemCode(
        "key_id_malformed", 422, "The key id is malformed",
        cause: "the key id is not 10 letters and digits.",
        remedy: "take it from the file name, `AuthKey_<key id>.p8`.")

    package static let teamIDMalformed = ProblemCode(
        "team_id_malformed", 422, "The team id is malformed",
        cause: "the team id is not 10 letters and digits.",
        remedy: "take it from the membership page of Apple's developer account.")

    package static let keyUnreadable = ProblemCode(
        "key_unreadable", 422, "The key can't be read",
        cause: """
            `p8` is not a PEM private key on the curve P-256. Or the `private_key` of a service account is not an \
            RSA key in PEM of 2,048 to 8,192 bits. Or the key of a certificate is neither an RSA key of at most \
            8,192 bits nor a key on P-256, P-384 or P-521.
            """,
        remedy: "send the unchanged text of the file from Apple or Google, including its line breaks.")

    package static let keyEncrypted = ProblemCode(
        "key_encrypted", 422, "The key is encrypted",
        cause: """
            `p8`, or the `private_key` of a service account, is encrypted. The gateway accepts no password for \
            either. Or the key in `pem` is encrypted, and `password` is missing.
            """,
        remedy: """
            send the original file from Apple or Google, which is not encrypted. For a certificate, send the \
            password too.
            """)

    package static let derivationTooLong = ProblemCode(
        "derivation_too_long", 422, "The file needs too many rounds of key derivation",
        cause: """
            the encrypted parts of `pem` or `pkcs12` need more than \(DerivationBudget.roundsMax) rounds of key \
            derivation in total. For scrypt, N times r times p counts as rounds.
            """,
        remedy: """
            export the file again with your tool's defaults, for example `openssl pkcs12 -export`, which uses 2,048 \
            rounds.
            """)

    package static let certificateUnreadable = ProblemCode(
        "certificate_unreadable", 422, "The certificate can't be read",
        cause: "`pem` or `pkcs12` does not contain a certificate with its private key.",
        remedy: "export the certificate and its key together.")

    package static let passwordWrong = ProblemCode(
        "password_wrong", 422, "The password is wrong",
        cause: "`password` does not open the PKCS#12 file, or the encrypted key in `pem`.",
        remedy: "send the password that was used for the export.")

    package static let keyDoesNotMatchCertificate = ProblemCode(
        "key_does_not_match_certificate", 422, "The key does not match the certificate",
        cause: "the private key does not belong to the certificate.",
        remedy: "export both from the same keychain entry.")

    package static let certificateExpired = ProblemCode(
        "certificate_expired", 422, "The certificate has expired",
        cause: "the certificate's validity had ended when it was submitted, or when it was to be activated.",
        remedy: "request a new one from Apple and submit that, or a token key, which does not expire.")

    package static let certificateNotYetValid = ProblemCode(
        "certificate_not_yet_valid", 422, "The certificate is not valid yet",
        cause: "the certificate's validity has not begun, or the clock of the gateway's machine is wrong.",
        remedy: "wait, or correct the clock.")

    package static let environmentNotCovered = ProblemCode(
        "environment_not_covered", 422, "The certificate does not cover the environment",
        cause: "a development certificate was submitted for production, or a production certificate for the sandbox.",
        remedy: "submit it for the environment that it was issued for.")

    package static let topicNotCovered = ProblemCode(
        "topic_not_covered", 422, "The certificate does not cover the topic",
        cause: """
            `topics` names a topic that the certificate does not list. A certificate for VoIP only covers \
            `com.example.app.voip`, not `com.example.app`.
            """,
        remedy: "leave `topics` out: the gateway takes them from the certificate.")

    package static let certificateNamesNoTopic = ProblemCode(
        "certificate_names_no_topic", 422, "The certificate names no topic",
        cause: "the certificate is not an APNs certificate.",
        remedy: "request an Apple Push Services certificate for the app's bundle id.")

    package static let tokenURIPrivate = ProblemCode(
        "token_uri_private", 422, "The token_uri is a private address",
        cause: """
            the service account's `token_uri` is not https, or is an address of this machine or its network. Unusual \
            spellings of an address (`127.1`, `0x7f000001`) are refused too. Behind a proxy, so is every host that \
            `CARILLON_TOKEN_HOSTS` does not list.
            """,
        remedy: """
            use Google's, `https://oauth2.googleapis.com/token`. For a stand-in, the operator sets \
            `CARILLON_ALLOW_PRIVATE_TARGETS=true`.
            """)
}
