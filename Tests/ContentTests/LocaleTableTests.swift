import Content
import Model
import Testing

private func choice(_ device: String, _ locales: [String]) -> String {
    let variant = LocaleTable(locales).variant(for: Array(device.utf8).span)
    return variant == 0 ? "" : locales[variant - 1]
}

@Suite("The text chosen for a device's locale")
struct LocaleTableTests {
    @Test(
        "matches the same locale in any spelling",
        arguments: [
            ("fr", "fr"), ("fr-CA", "fr-CA"), ("FR-ca", "fr-CA"), ("fr_CA", "fr-CA"), ("fr-CA", "fr_CA"),
            ("fr_CA.UTF-8", "fr-CA"), ("fr_CA.ISO8859-1@euro", "fr-CA"), ("fr_CA@calendar=gregorian", "fr-CA"),
            ("fr-CA-u-ca-buddhist", "fr-CA"), ("b+fr+CA", "fr-CA"), ("fr-rCA", "fr-CA"), ("b+zh+Hant", "zh-Hant"),
            ("b+es+419", "es-419"), ("zh_TW_#Hant", "zh-Hant-TW"), ("sr__#Latn", "sr-Latn"), ("iw", "he"),
            ("he", "iw"), ("iw-IL", "he-IL"), ("in-ID", "id-ID"), ("ji", "yi"), ("no", "nb"), ("nb-NO", "no-NO"),
            ("tl-PH", "fil-PH"), ("mo", "ro"), ("zh-TW", "zh-Hant-TW"), ("zh-Hans-CN", "zh-CN"),
            ("zh-cmn-Hans", "zh-Hans"),
            ("ca-ES-valencia", "ca-ES-valencia"), ("de-CH-1996", "de-CH-1996"), ("en_US_POSIX", "en-US-posix"),
        ])
    func spelling(device: String, locale: String) {
        #expect(choice(device, ["de", locale, "xx"]) == locale)
    }

    @Test(
        "falls back to the nearest available locale",
        arguments: [
            // Shorter and shorter tags.
            ("fr-CA", ["fr", "fr-CA"], "fr-CA"), ("fr-CA", ["fr-FR", "fr"], "fr"), ("fr-CA", ["de", "fr"], "fr"),
            ("ca-ES-valencia", ["ca", "ca-valencia", "ca-ES"], "ca-ES"), ("ca-ES", ["ca-ES-valencia", "ca"], "ca"),
            // A reader of one regional French also reads the others: better than the language of the common text.
            ("fr", ["fr-CA", "fr-BE"], "fr-CA"), ("fr-FR", ["de", "fr-CH", "fr-CA"], "fr-CH"),
            ("ca", ["ca-valencia"], "ca-valencia"),
            // Regions that follow another region's standard.
            ("es-MX", ["es", "es-419"], "es-419"), ("es-ES", ["es-419", "es"], "es"), ("es-MX", ["es-ES"], "es-ES"),
            ("es-MX", ["es-419", "es-MX"], "es-MX"), ("pt-AO", ["pt-BR", "pt-PT"], "pt-PT"),
            ("pt-BR", ["pt-PT", "pt"], "pt"), ("pt", ["pt-BR", "pt-PT"], "pt-BR"),
            ("es-MX", ["es-ES", "es-AR"], "es-AR"), ("pt-AO", ["pt-BR", "pt-MZ"], "pt-MZ"),
            // English is British outside of the United States and a few other regions.
            ("en-AU", ["en-US", "en-GB"], "en-GB"), ("en-NZ", ["en", "en-GB"], "en-GB"),
            ("en-IE", ["en-US", "en"], "en"), ("en-IN", ["en-US", "en-001"], "en-001"),
            ("en-AU", ["en", "en-001"], "en-001"), ("en-001", ["en-US", "en-GB"], "en-GB"),
            ("en-ZA", ["en-US", "en-NZ"], "en-NZ"), ("en-GB", ["en-US", "en-AU"], "en-AU"),
            ("en-CA", ["en-GB", "en-US"], "en-US"), ("en-US", ["en-GB", "en-PH"], "en-PH"),
            ("en-US", ["en-GB", "en"], "en"), ("en-AU", ["en-US"], "en-US"),
            // Chinese is written in two scripts, and the region says in which.
            ("zh-TW", ["zh", "zh-Hans", "zh-Hant"], "zh-Hant"), ("zh-HK", ["zh-Hans", "zh-Hant"], "zh-Hant"),
            ("zh-MO", ["zh", "zh-TW", "zh-HK"], "zh-HK"), ("zh-CN", ["zh-Hant", "zh", "zh-Hans"], "zh-Hans"),
            ("zh-SG", ["zh-Hant", "zh-CN"], "zh-CN"), ("zh-Hant-TW", ["zh", "zh-HK"], "zh-HK"),
            ("zh-Hant", ["zh"], "zh"), ("zh-TW", ["zh"], "zh"), ("zh", ["zh-TW", "zh-CN"], "zh-CN"),
            ("zh", ["zh-Hans", "zh"], "zh"), ("zh-Hant-US", ["zh-Hans", "zh-TW"], "zh-TW"),
            ("zh-CN", ["zh-SG", "zh"], "zh"),
            // Other languages too.
            ("sr-Latn-RS", ["sr", "sr-Cyrl", "sr-Latn"], "sr-Latn"), ("sr-RS", ["sr-Latn", "sr"], "sr"),
            ("sr-Latn", ["sr"], "sr"), ("sr-RS", ["sr-Cyrl", "sr-Latn"], "sr-Cyrl"),
            ("nn-NO", ["da", "nb"], "nb"), ("nn", ["nb", "nn-NO"], "nn-NO"),
            ("yue-Hant-HK", ["en", "zh-Hans", "zh-Hant"], "zh-Hant"),
            ("yue-Hans-CN", ["zh-Hant", "zh-Hans"], "zh-Hans"),
            ("yue", ["zh-Hans", "zh-Hant"], "zh-Hant"), ("yue-CN", ["zh-Hant", "zh-Hans"], "zh-Hans"),
            ("yue-HK", ["zh-TW", "zh-HK"], "zh-HK"), ("yue-HK", ["zh-HK", "yue"], "yue"), ("yue", ["zh"], "zh"),
            ("wuu", ["zh-TW", "zh-CN"], "zh-CN"), ("nan-TW", ["zh-CN", "zh-TW"], "zh-TW"),
            ("gsw-CH", ["fr", "de"], "de"), ("sr-Latn", ["sr-Cyrl"], "sr-Cyrl"),
        ] as [(String, [String], String)])
    func nearest(device: String, locales: [String], expected: String) {
        #expect(choice(device, locales) == expected)
    }

    @Test(
        "falls back to the common text if no locale fits",
        arguments: [
            ("de", ["fr", "en"]), ("", ["fr"]), ("C", ["fr"]), ("POSIX", ["fr"]), ("zh-Hant", ["zh-Hans", "zh-CN"]),
            ("zh", ["zh-Hant", "zh-HK"]), ("uz-Latn", ["uz-Cyrl"]), ("f", ["fr"]), ("fri", ["fr"]), ("419", ["es-419"]),
            ("nb", ["nn"]), ("zh-HK", ["yue"]), ("yue-Hant", ["zh-Hans"]), ("de", ["gsw"]), ("fr", []), (" fr", ["fr"]),
            ("frankreich", ["fr"]), ("u-fr", ["fr"]), ("\u{e9}", ["fr"]),
        ] as [(String, [String])])
    func common(device: String, locales: [String]) {
        #expect(choice(device, locales) == "")
    }

    @Test(
        "takes the most likely region if the device names none, and else the nearest one",
        arguments: [
            ("pt", ["pt-PT", "pt-BR"], "pt-BR"), ("es", ["es-419", "es-MX", "es-ES"], "es-ES"),
            ("en", ["en-GB", "en-AU", "en-US"], "en-US"), ("fr", ["fr-CA", "fr-CH", "fr-FR"], "fr-FR"),
            ("de", ["de-AT", "de-DE"], "de-DE"), ("ar", ["ar-MA", "ar-EG"], "ar-EG"),
            ("nl", ["nl-BE", "nl-NL"], "nl-NL"), ("zh-Hant", ["zh-HK", "zh-TW"], "zh-TW"),
            ("pt", ["pt-BR", "pt"], "pt"), ("en", ["en-GB", "en-PH"], "en-PH"),
            // The most likely region comes before other unrelated ones.
            ("fr-SN", ["fr-CA", "fr-FR"], "fr-FR"), ("de-LI", ["de-AT", "de-DE", "de-CH"], "de-DE"),
            ("fr-CA", ["fr-FR", "fr"], "fr"),
            ("es-AR", ["es-ES", "es-419"], "es-419"), ("es-US", ["es-ES", "es-419"], "es-419"),
        ] as [(String, [String], String)])
    func likelyRegion(device: String, locales: [String], expected: String) {
        #expect(choice(device, locales) == expected)
    }

    @Test(
        "has the script that is most likely for the device's language and region",
        arguments: [
            ("hi", ["hi-Latn", "hi-Deva"], "hi-Deva"), ("pa-PK", ["pa", "pa-Guru", "pa-Arab"], "pa-Arab"),
            ("pa-IN", ["pa-Arab", "pa-Guru"], "pa-Guru"), ("uz-AF", ["uz-Latn", "uz-Arab"], "uz-Arab"),
            ("az-IR", ["az-AZ", "az-Arab"], "az-Arab"), ("sr-ME", ["sr-Cyrl", "sr-Latn"], "sr-Latn"),
            ("sr-RS", ["sr-Latn", "sr-Cyrl"], "sr-Cyrl"), ("kk-CN", ["kk-Cyrl", "kk-Arab"], "kk-Arab"),
            ("zh-US", ["zh-Hans", "zh-Hant"], "zh-Hant"), ("zh-SG", ["zh-Hant", "zh-Hans"], "zh-Hans"),
            // A reader of another script is not served, except in Serbian.
            ("uz", ["uz-Cyrl"], ""), ("az-IR", ["az-AZ"], ""), ("pa-PK", ["pa-IN"], ""), ("sr", ["sr-Latn"], "sr-Latn"),
            ("sr-ME", ["sr-RS"], "sr-RS"),
        ] as [(String, [String], String)])
    func likelyScript(device: String, locales: [String], expected: String) {
        #expect(choice(device, locales) == expected)
    }

    @Test(
        "appears under a legacy or three-letter code of the language",
        arguments: [
            ("cmn-Hans-CN", "zh-Hans"), ("cmn", "zh"), ("zh-CHT", "zh-Hant"), ("zh-CHS", "zh-Hans"),
            ("zh_CHT", "zh-TW"),
            ("zh-yue-HK", "yue"), ("sh", "sr-Latn"), ("sh-BA", "sr-Latn-BA"), ("fra-CA", "fr-CA"), ("ger", "de"),
            ("deu", "de"), ("eng-US", "en-US"), ("por", "pt-BR"), ("spa-MX", "es-MX"), ("zho-TW", "zh-Hant"),
            ("jpn", "ja"), ("nor", "nb"), ("nob-NO", "nb"), ("arb", "ar"), ("prs", "fa-AF"), ("tgl", "fil"),
            ("jw", "jv"),
            ("mol", "ro"), ("cnr", "sr-ME"), ("en-UK", "en-GB"),
        ])
    func alias(device: String, locale: String) {
        #expect(choice(device, ["xx", locale]) == locale)
        let shown = locale.split(separator: "-").first.map(String.init)
        #expect(LocaleTable.language(of: device) == shown)
    }

    @Test("belongs to exactly the device's locale if that is offered, in every language and region")
    func exact() {
        let languages = [
            "ar", "az", "de", "en", "es", "fa", "fil", "fr", "he", "hi", "ja", "kk", "ko", "nb", "nl", "nn", "pa", "pt",
            "ro", "sr", "sw", "uz", "yue", "zh",
        ]
        let scripts = ["", "-Latn", "-Cyrl", "-Arab", "-Hans", "-Hant"]
        let regions = ["", "-001", "-419", "-AF", "-BR", "-CN", "-ES", "-FR", "-GB", "-ME", "-PT", "-TW", "-US", "-XX"]
        for language in languages {
            let all = scripts.flatMap { script in regions.map { language + script + $0 } }
            // "zh-CN" and "zh-Hans-CN" are one locale, which a message may name only once.
            var offered: [String] = []
            for tag in all where LocaleTable.duplicates(in: offered + [tag]) == nil { offered.append(tag) }
            for order in [offered, offered.reversed()] {
                let table = LocaleTable(order)
                for (place, tag) in order.enumerated() {
                    #expect(table.variant(for: Array(tag.utf8).span) == place + 1, "\(tag)")
                }
            }
        }
    }

    @Test("exists for any bytes as the device's locale; an exact match always wins")
    func fuzz() {
        var state: UInt64 = 0x5eed_10ca_1e00_0001
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let parts = [
            "fr", "zh", "Hant", "hans", "CA", "TW", "419", "x", "u", "valencia", "no", "rCA", "b", "1996", "é", "",
        ]
        let marks = ["-", "_", "+", "#", ".", "@", "-", "-", "_", " "]
        func locale() -> String {
            (0...next(6)).reduce(into: "") { text, _ in text += parts[next(parts.count)] + marks[next(marks.count)] }
        }
        for _ in 0..<3_000 {
            let locales = (0..<next(6)).map { _ in locale() } + ["fr"]
            let table = LocaleTable(locales)
            let noise = (0..<next(200)).map { _ in UInt8(next(256)) }
            #expect((0...locales.count).contains(table.variant(for: noise.span)))
            #expect((0...locales.count).contains(table.variant(for: Array(locale().utf8).span)))
            guard LocaleTable.duplicates(in: locales) == nil else { continue }
            for (place, own) in locales.enumerated() where LocaleTable.isLocale(own) {
                #expect(table.variant(for: Array(own.utf8).span) == place + 1, "\(own) in \(locales)")
            }
        }
    }
}

@Suite("A locale reported by a device")
struct ReportedLocaleTests {
    @Test("may have the form of BCP 47, ICU, Java, Android or POSIX")
    func forms() {
        for good in [
            "de", "fil", "en-GB", "zh-Hant-TW", "zh_TW_#Hant", "sr__#Latn", "th_TH_TH_#u-nu-thai", "b+sr+Latn+RS",
            "en_US@rg=gbzzzz", "de@collation=phonebook;calendar=gregorian", "fr_CA.UTF-8", "de_DE.ISO8859-1@euro",
            "en_US_POSIX", "es-419", "ca-ES-valencia", "und", "fr-rCA", "es_ES_TRADITIONAL",
        ] {
            #expect(LocaleTable.isReported(good), "\(good)")
        }
    }

    @Test("fails validation if it does not begin with a language's code, or has other characters")
    func others() {
        for bad in [
            "", "d", "C", "POSIX", "Deutsch", "Deutsch!!", "de!!", "english", "de CH", "de,en;q=0.9", "419", "-de",
            "b+", "@calendar=gregorian", "de-\u{e9}", "de/CH", "de.UTF 8", "d1",
        ] {
            #expect(!LocaleTable.isReported(bad), "\(bad)")
        }
    }
}

@Suite("A locale in a message")
struct SendersLocaleTests {
    @Test("consists of language, script, region or variant subtags, in at most 35 bytes")
    func isLocale() {
        for good in [
            "fr", "fr-CA", "fr_CA", "zh-Hant-TW", "es-419", "fil", "ca-ES-valencia", "de-1996", "en-u-nu-latn",
        ] {
            #expect(LocaleTable.isLocale(good), "\(good)")
        }
        for bad in [
            "", "f", "fr-", "-fr", "fr--CA", "fran", "french", "fr CA", "fr.UTF-8", "f1", "12", "fr-é",
            "fr-verylongone",
        ] {
            #expect(!LocaleTable.isLocale(bad), "\(bad)")
        }
        let longest = "fr" + String(repeating: "-abcdefghij", count: 3).replacing("ij", with: "") + "-abcde"
        #expect(longest.utf8.count == 35)
        #expect(LocaleTable.isLocale(longest))
        #expect(!LocaleTable.isLocale(longest + "f"))
    }

    @Test("counts as a duplicate of the same locale in another spelling")
    func duplicates() {
        func duplicates(_ locales: [String]) -> [Int]? {
            LocaleTable.duplicates(in: locales).map { [$0.first, $0.second] }
        }
        #expect(duplicates(["de", "fr-CA", "en", "FR_ca"]) == [1, 3])
        #expect(duplicates(["iw", "he"]) == [0, 1])
        #expect(duplicates(["zh-TW", "zh-Hant-TW"]) == [0, 1])
        #expect(duplicates(["nb", "en", "no"]) == [0, 2])
        #expect(duplicates(["zh-Hans", "de", "cmn-Hans"]) == [0, 2])
        #expect(duplicates(["sr-RS", "sr-Latn-RS", "sr-Cyrl-RS"]) == [0, 2])
        #expect(duplicates(["zh", "zh-Hans", "zh-Hant", "fr", "fr-FR", "nn", "nb", "ca", "ca-valencia"]) == nil)
        #expect(duplicates([]) == nil)
    }
}

@Suite("A title that a localization omits")
struct LocaleFallbackTests {
    private func title(of locale: String, _ titles: [(locale: String, title: String?)], common: String?) -> String? {
        let texts = LocaleTable.texts(
            common.map { NotificationText(title: $0) },
            titles.map { Localization(locale: $0.locale, text: NotificationText(title: $0.title, body: $0.locale)) })
        guard let place = titles.firstIndex(where: { $0.locale == locale }) else { return nil }
        return texts[place + 1]?.title
    }

    @Test(
        "comes from the next broader locale of the message, and finally from the common text",
        arguments: [
            ("fr-CA", [("fr-CA", nil), ("fr", "fr")], "fr"), ("fr-CA", [("fr", "fr"), ("fr-CA", nil)], "fr"),
            ("fr-CA", [("fr-CA", nil), ("de", "de")], "common"), ("fr-CA", [("fr-CA", "own"), ("fr", "fr")], "own"),
            ("fr", [("fr", nil), ("fr-CA", "ca")], "common"),
            // Never a sibling's text: a text for one region is not meant for another.
            ("fr-CA", [("fr-CA", nil), ("fr-BE", "be")], "common"),
            // Several steps, and a step over a locale without a title.
            ("es-MX", [("es-MX", nil), ("es-419", nil), ("es", "es")], "es"),
            ("es-MX", [("es", "es"), ("es-MX", nil), ("es-419", "419")], "419"),
            ("ca-ES-valencia", [("ca-ES-valencia", nil), ("ca", "ca")], "ca"),
            ("zh-TW", [("zh-TW", nil), ("zh-Hans", "hans"), ("zh-Hant", "hant")], "hant"),
            ("en-AU", [("en-AU", nil), ("en-US", "us"), ("en", "en"), ("en-GB", "gb")], "gb"),
            ("en-GB", [("en-GB", nil), ("en-AU", "au"), ("en-001", "world")], "world"),
            // One notification is in one script.
            ("sr-Latn-RS", [("sr-Latn-RS", nil), ("sr-Cyrl", "cyrl"), ("sr-Latn", "latn")], "latn"),
            ("sr-Latn-RS", [("sr-Latn-RS", nil), ("sr-Cyrl", "cyrl")], "common"),
        ] as [(String, [(locale: String, title: String?)], String)])
    func fallback(locale: String, titles: [(locale: String, title: String?)], expected: String) {
        #expect(title(of: locale, titles, common: "common") == expected)
    }

    @Test("stays empty if neither a broader locale nor the common text has a title")
    func nothing() {
        #expect(title(of: "fr-CA", [("fr-CA", nil), ("fr", nil)], common: nil) == nil)
        #expect(LocaleTable.texts(nil, []) == [nil])
    }

    @Test(
        "reads the language of any locale that a device reports",
        arguments: [
            ("fr-CA", "fr"), ("FR_ca.UTF-8", "fr"), ("b+zh+Hant", "zh"), ("iw", "he"), ("yue-HK", "yue"), ("", nil),
            ("-", nil), ("419", nil),
        ] as [(String, String?)])
    func language(locale: String, language: String?) {
        #expect(LocaleTable.language(of: locale) == language)
    }

    @Test("resolves for any set of locales: no two of them are broader than each other")
    func ends() {
        let tags = [
            "fr", "fr-CA", "fr-FR", "es", "es-419", "es-MX", "pt", "pt-PT", "pt-AO", "pt-BR", "zh", "zh-Hant",
            "zh-TW", "zh-HK", "zh-MO", "zh-Hans-MO", "en", "en-001", "en-GB", "en-AU", "en-US", "en-CA", "yue", "ca",
            "ca-valencia", "ca-ES-valencia", "nn", "nb", "mo", "xx-419",
        ]
        let texts = LocaleTable.texts(
            NotificationText(title: "common"), tags.map { Localization(locale: $0, text: NotificationText(body: $0)) })
        #expect(texts.allSatisfy { $0?.title == "common" } && texts.count == tags.count + 1)
    }
}
