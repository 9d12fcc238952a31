import Signing

extension ErrorPage {
    /// What is said of a credential that could not be used.
    static let credentials = Chapter(
        "A credential that could not be used",
        [
            Explanation(
                .keyIDMalformed,
                cause: "a key id has 10 letters and digits.",
                remedy: "take it from the file's name, `AuthKey_<key id>.p8`."),
            Explanation(
                .teamIDMalformed,
                cause: "a team id has 10 letters and digits.",
                remedy: "take it from the membership page of Apple's developer account."),
            Explanation(
                .keyUnreadable,
                cause: """
                    `p8` is not a PEM private key on the curve P-256, or the `private_key` of a service account is not \
                    an RSA key in PEM of 2,048 to 8,192 bits. Or the key of a certificate is neither an RSA key of at \
                    most 8,192 bits nor one on P-256, P-384 or P-521.
                    """,
                remedy: """
                    send the file's text as Apple gave it, with its line breaks; of a service account, the file as \
                    Google gave it.
                    """),
            Explanation(
                .keyEncrypted,
                cause:
                    "`p8`, or the `private_key` of a service account, is encrypted. No password is taken for either.",
                remedy: "send the file as Apple or Google gave it; theirs are never encrypted."),
            Explanation(
                .derivationTooLong,
                cause: """
                    `pem` or `pkcs12` asks for more than \(DerivationBudget.roundsMax) rounds of key derivation, all its encrypted \
                    parts together. For scrypt, N times r times p counts as rounds.
                    """,
                remedy: """
                    export the file again with the default of your tool, for example `openssl pkcs12 -export`, which \
                    asks for 2,048 rounds.
                    """),
            Explanation(
                .certificateUnreadable,
                cause: "no certificate with its private key was found in `pem` or `pkcs12`.",
                remedy: "export certificate and key together."),
            Explanation(
                .passwordWrong,
                cause: "the PKCS#12 file does not open with `password`.",
                remedy: "send the password that the file was exported with."),
            Explanation(
                .keyDoesNotMatchCertificate,
                cause: "the private key is another one than the certificate's.",
                remedy: "export both from the same keychain entry."),
            Explanation(
                .certificateExpired,
                cause: "its last day is over.",
                remedy: "request a new one from Apple, or use a token key, which does not expire."),
            Explanation(
                .certificateNotYetValid,
                cause: "its first day has not come, or this machine's clock is wrong.",
                remedy: "wait, or set the clock."),
            Explanation(
                .environmentNotCovered,
                cause: "a development certificate for production, or the reverse.",
                remedy: "hand it in for the environment that it was made for."),
            Explanation(
                .topicNotCovered,
                cause: """
                    `topics` names a topic that the certificate does not list. A certificate for VoIP alone covers \
                    `com.example.app.voip` and not `com.example.app`.
                    """,
                remedy: "leave `topics` out; a certificate says itself which it covers."),
            Explanation(
                .certificateNamesNoTopic,
                cause: "it is a certificate for something else than APNs.",
                remedy: "request an Apple Push Services certificate for the app's bundle id."),
            Explanation(
                .tokenURIPrivate,
                cause: """
                    the service account's `token_uri` is not https, or leads to this machine or its network; an \
                    address in another form than the usual one (`127.1`, `0x7f000001`) counts as such.
                    """,
                remedy: """
                    Google's is `https://oauth2.googleapis.com/token`. For a stand-in, let the operator set \
                    `CARILLON_ALLOW_PRIVATE_TARGETS=true`.
                    """),
        ])
}
