/// Made with the openssl program; the key guards nothing. The password is "carillon".
///
/// openssl req -x509 -new -subj "/CN=Apple Push Services: com.example.app/UID=com.example.app/OU=TEAMID1234"
/// openssl pkcs12 -export (-legacy)
enum Fixtures {
    static let selfSigned = Array(
        """
        -----BEGIN CERTIFICATE-----
        MIICITCCAcegAwIBAgIUHBJYsJ/P/HeMR1KuPi8smvAGwYgwCgYIKoZIzj0EAwIw
        ZTEtMCsGA1UEAwwkQXBwbGUgUHVzaCBTZXJ2aWNlczogY29tLmV4YW1wbGUuYXBw
        MR8wHQYKCZImiZPyLGQBAQwPY29tLmV4YW1wbGUuYXBwMRMwEQYDVQQLDApURUFN
        SUQxMjM0MCAXDTI2MTEyMTExMzA1NFoYDzIxMjYxMDI4MTEzMDU0WjBlMS0wKwYD
        VQQDDCRBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20uZXhhbXBsZS5hcHAxHzAdBgoJ
        kiaJk/IsZAEBDA9jb20uZXhhbXBsZS5hcHAxEzARBgNVBAsMClRFQU1JRDEyMzQw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASq+ZFik7rVeV1SYiLmDfJahzEOMpjz
        lqI+G/ZuZrrOCUynyCMm35QE8n4aI3weziuLXrxyGq+zYHaNGdQDqRaBo1MwUTAd
        BgNVHQ4EFgQUsyNxQOAlJOHvH1SHKCBYhZmUB9kwHwYDVR0jBBgwFoAUsyNxQOAl
        JOHvH1SHKCBYhZmUB9kwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
        AiA6hGZ7YWrxO8Dj07pQ3s3KkoQ7+L2On63ep6tD+rQl+gIhALD/BovXbE9NgNLC
        ZCWHMtgYKasLm1VnOnvJx1gMpLKP
        -----END CERTIFICATE-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIC7v/ciqdvc22Sd9uTnDz5yaElms+ZcGEDYG9UdOXTtdoAoGCCqGSM49
        AwEHoUQDQgAEqvmRYpO61XldUmIi5g3yWocxDjKY85aiPhv2bma6zglMp8gjJt+U
        BPJ+GiN8Hs4ri168chqvs2B2jRnUA6kWgQ==
        -----END EC PRIVATE KEY-----
        """.utf8)
    static let encryptedKey = Array(
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjFaT8eBGIDlwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEL7fb5mKSxcOti59s5jF2EwEgZDA
        pDBW7KnTD2BD+PVVKcYgG1TrdC0Fz9oehOEIUy4ZF7WjjjwB0KAR6Zd+xdpr+lHG
        B3OxVPYquuM9m+ZoRccKdA71L57DxlhkfScC/n68oDgfN3H2hf9mcDBtP89g3hvW
        wxkdvYS1ZhljIBeTG+wrzlct4vbi+UIPTGpyGBFtOtB8qjgRo1wIHbyCDqnUulk=
        -----END ENCRYPTED PRIVATE KEY-----
        """.utf8)
    /// openssl pkcs8 -topk8 -scrypt
    static let scryptKey = Array(
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgqkggxFCAXfgICQAAC
        AQgCAQEwHQYJYIZIAWUDBAEqBBCop8tHTAtNvy6HVtYKAhLJBIGQ9OxQ5OZtoxpZ
        tZWrQ5g1RDwltbk0PM0OtnKoE6yRWXox5ZvcHZnT+6w3B4zhCZ/2UklMlhZ4Oz/m
        yswINPvPcB0eVk/G8S/8SfE0XYQZN8DBU322JS8bgh846/fJCIXYIj2CaXb1ZM14
        /9zgtAy9Xt6I87a0Q3CmzxRd0nhRfBTA8bpyBakNltdMVrieRzpJ
        -----END ENCRYPTED PRIVATE KEY-----
        """.utf8)
    /// RC2-40 and triple DES, as Keychain exports.
    static let legacyPKCS12 = bytes(
        """
        MIIEIgIBAzCCA+gGCSqGSIb3DQEHAaCCA9kEggPVMIID0TCCAscGCSqGSIb3DQEHBqCCArgwggK0AgEAMIICrQYJKoZIhvcNAQcB
        MBwGCiqGSIb3DQEMAQYwDgQIJ0l4fwQ8GKYCAggAgIICgHmAKeSzht0Sak/DQkEex9d8NexENWwB79uWgZq7+HNiAfpyXIIMBUdp
        GW8zcPlKHV3E/F15JU4clas/sOQ2pDNABS1O6mVY7pbDxL0LoEa/H/ZvJzPATcBFAgV3G/gW2c3LA72gvFhZ/N58EpxuQffTArUP
        lzwyhXJ1UVh3W0uROMy5Tyq7TUrkgQAHkO/A+VCVSb0supIGvPDmwep+/PwfERWh9Y783flCTciNpzS2OJUKCudxZPYeL16InLFv
        qqBm9hjDq+m+K5MsrVgmA33bTjSH4eCXPfPppEFsVd1L8iUArAp432mjomaopryzGJRbhfkR48uUZVgkXtbhRb26Kn0mlChxQiXc
        KEk3PM1tI3G7xGRsH1VYJcV4n3AYGFMIU9Jt/3F790GIMmP/maAbG9TKB7oXdJqgiLJFopLQ0tUoj9dZmO/XBYXMWIVonGwzygXA
        5ytM4U0GXI2iSIGGJtgJFlXqXqWzqgDkvS0QYjaHk1wO3LLQaypkgeOd9mXmdUukHb4rw+8cigmFicD/7zKOB14pxNbIat1rLt5b
        FL2gBeP35O8rDq0f2N9O18qQP6U3rZFZy1xvtA9VuWWQ+PosBgGPrReXBnJo5kTpCEavwQX2SE3hteTh3q2iNNI02trSdV/MBs6W
        Wg3kZViIVf4sOwm9ljZ33lXa0d8CcYIcWhAbt0Zl5iAByvtzV4pLju9LMdxaVHOoRv3xNxUCvEnGwA1JBO3FpOC9PvRXqdFFo0ke
        S2u0qDtWFaxxLbbAG4CimxaDzdgtt6aN69/UQoxxUJar4rZMT7ZcO/6zCErcKvnjySf76+ObvXEtM/q6X1wLam3QKvQ0vu/856ow
        ggECBgkqhkiG9w0BBwGggfQEgfEwge4wgesGCyqGSIb3DQEMCgECoIG0MIGxMBwGCiqGSIb3DQEMAQMwDgQIa7fbuX1KLCUCAggA
        BIGQxsImYbF5ary7jgQpiPXCzTsIlk89N1tjtRM3xoAJn58wV7GlyYeDBEcYc8NjciHlvHIXhQWL39nPZtp02J0eCUG60ugIseCJ
        D1OpIjr6IOTrXYmWPIU/QL05rnu+KZO0CDWkW0A6ROlODb4geXIHMWMDEFQy7lSCfDxyu+2+M8WfQOFtntFraI304dkkBinBMSUw
        IwYJKoZIhvcNAQkVMRYEFBFHMlmArIteplCXm2lqnug+sfxdMDEwITAJBgUrDgMCGgUABBSbo8hApyDugj3JjQurBq/6FmQPrgQI
        rM8bIRc9zSsCAggA
        """)
    /// AES-256.
    static let modernPKCS12 = bytes(
        """
        MIIErAIBAzCCBGIGCSqGSIb3DQEHAaCCBFMEggRPMIIESzCCAwIGCSqGSIb3DQEHBqCCAvMwggLvAgEAMIIC6AYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhSdX4oRWvrGwICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBz7
        kbxqqx3yJJLAwz/qOXGAggKAuoD7MMFCwQUx17Bb9/geLY9CCS13mO6jfAGA+6eYRWZ9cguN5FfGr1DhtTOJCazdt3n1YvXcOjLR
        ZoHkYI2zf2ZOIayeHKOUhIVWKg7K+ekOHefLIBWpxYcsA+r3AeypnrWR1hDmgxypJXqkkDmT9yE+cbvhaWrjk9ObHmxcxFPdhPAS
        lGc5XlnFabvKc9S89WBvO90kJorcaQz8HpL1zykxE2uKjGF3+nnCIL5cZjadw6/W2Ho44ivoywgVCJQ9OunFyRmtIbe7ERVIoEXE
        cBhShMDomNKRZk+6qmuF6HPV70hEek1I1aX9J/WyLKWdlrmN+Y95E/pspP+Ybf6fEnIuaWjymrf9jk0B9p7navwrZHtmgdSLhQWh
        dFAb+GJ+jHfaRxjshJdEPyDKmw1qw94TPJVcotrQ5KwWYCrmga8R6jHdEFs67tBz4TqhhhS+IyKVzClhgioY7jyJ93NluliesofH
        gWMPOzhL4fyr1v16Jn+7tCBgp8vDbeewtJ5zyJDcSTLKBzNurk89eEMhe+fvXyM0S+3uV5/y2lI0M99v/DVSUfVo7XMZwUPwBaDu
        wfAmR3NRR4XwQ1wWu1DcO7qxomdHezTug0m+IzTiNtz6b7uFewh4frbyGPzBsWmESVfMhhzX9jHYDQbXvJTdieat1YV3+o2ND6sF
        Ljr2yqSLIgHX4JMw59ukbq9nW0XL3/W7lbmlFgd6WDUvi/52ppVjO3m/8Rd2Y4+r23WHsuc9NnU9RqVzq/g8tjvBuNeygosbpEsZ
        G9bsX3Ktxv75xGDdGYNHzFD6fVrvHfXP8YACMpDHwNn95AbRbMghH/oe6+DBtwv87R5PwrTwYmzp9zCCAUEGCSqGSIb3DQEHAaCC
        ATIEggEuMIIBKjCCASYGCyqGSIb3DQEMCgECoIHvMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiqhymxaha45QIC
        CAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKXe6Iv5Fo79NxeCjhkhCcQEgZDr+Ps2FQwdWYleou8+EwNpZRi4akB6m3tD
        0EGfwssyHiUA2druabv6Y+HCXFDeK+5iVRBpsC+MTsppc/CwLRoer3fg2nld789gJnGoXgOFZ9+hJXPHcPfy2k0bH89rYdDYl1Vy
        pAKb/ZaiknF88F+9zJgXzLemCifoh92Jkik9D1aXyRCI8qwOAyCh3w6uDCAxJTAjBgkqhkiG9w0BCRUxFgQUEUcyWYCsi16mUJeb
        aWqe6D6x/F0wQTAxMA0GCWCGSAFlAwQCAQUABCBGKvyeJ8F9ZtpkIop0wRBjbgAhKtctjb2oI4vQ2W447wQIVCt5XFlgPe4CAggA
        """)

    /// The certificate and the key in one encrypted safe. The key's bag asks for 2,147,483,647 rounds, which shows only
    /// when the safe is decrypted. Made with libcrypto: no program writes it.
    static let nestedPKCS12 = bytes(
        """
        MIIERwIBAzCCA/0GCSqGSIb3DQEHAaCCA+4EggPqMIID5jCCA+IGCSqGSIb3DQEHBqCCA9MwggPPAgEAMIIDyAYJKoZIhvcNAQcBMFcG
        CSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhtGCnsc1WPYgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEJbhvvg7+pG
        pKh8xq74+c2AggNgMArOkVpluNiVWITDgDGPZjEkORUbAWZ7HvpWuLc8K5pVohnNbJzVrE5PGB9PwO6/9a3/AG3RGuih4Hu1aSYc07Wl
        qN1mAwpzJeZO+oI80en7zhVagpJVkazim+tdXDLykXiBpz4wqHEBlWL6B/Z7GLriaPVBy9TZUz9dubVg7jjW8BMBXyfDz9dWUh46GvQu
        OwHM29T0VO1Lkcu8jl4csofHdE8zbsxHZwxBqcfJUSRUc35vdBnkTDYgFjgDmOgUQCNMtDZCzYUJS/vAkx/SvVXLW0Loq1XTulXkih8o
        0XFbfUCI3xsC2qRKQJ6aGUywPfDHNbs7uPnfkuKHL/gDANcdheYOgVlaNBEHGcgCLt6CePhCbJBDPtzIh6cVsTpQlsituw40rPWtXRcD
        vS64pe6bvsxuIEQdVgYZkwIpmIWMHbGDUj4DpHoIwZFfWZDmIS6PtyBTv6zpgD3iLEreV9VlxQBIImxwsnHp24GQUJ2eD/ULp007NA5m
        pwlCRr19IfUTJ55SXQRDy5quyRy44xVlAt4mbsFbEiy5K1AXBDOOEZ4LsPkytc09h282vYq7KnBzOCJL+18TTKw3qPM8uoRaARIaJ9mK
        2MpVKQ9mVAMiIbSGwCH68mrv2ayX4p8Xbdph3PPEAmXmjQs6AlRnjmWQ9VPj7KPlySt4hn94QRWShqAnmPa+UiFn75ZvmPvijo21L+XN
        JjPrA3tMOJZKfDiiucXwdIGWbegpCjvCd1f/yMuKcM7+BlBUFcDwSBs7pULHp3ObGbzqSD8yyK520+YwDJhErRtgW9qfcv6lhojrCCvt
        4WjZPbZ0IoSw0EA3neLrRYLJTY/XXoS1UBa+UX60I1XttifsX1KpCTBwpkm5G5WQFdEhnUrZYKY30eM41u3kIYgWrhFNt2k0c4vFwVzc
        I5ZHlVKe47RsRAyib3w1MwhCVx5vNRifiz5xMc6AK4DzxdlPIBIVNEqIJaya1sYV147cXhXTq+KAfRo0atpuzunWUZWnk4hnHyn4iQJw
        sw0JEquhEQklOKkuLipfhJol1ycj5v/ytWUGQSgAfEL2f7MIIcqHHuiwFS2/OPPtf52zZMoJyI+NrGRlej48Tj6enWlZHaz/u6GcOECR
        7er5M/Bq0c1yHFEEuZodWYiiMEEwMTANBglghkgBZQMEAgEFAAQg2Jw1osWdlh4cLBR65XWPFThtR1njAGI2ASrDzi38R7oECGdX/W9h
        CVeAAgIIAA==
        """)

    /// The certificate of `selfSigned`, and an encrypted key.
    static func pem(encryptedKey: [UInt8]) -> [UInt8] {
        let text = String(decoding: selfSigned, as: UTF8.self)
        let cut = text.firstRange(of: "-----BEGIN EC PRIVATE KEY-----")
        return Array(text[..<(cut?.lowerBound ?? text.endIndex)].utf8) + encryptedKey
    }

    /// Base64 in lines, padded.
    static func bytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { continue }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}
