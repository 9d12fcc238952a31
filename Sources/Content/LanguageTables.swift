/// Facts about languages, scripts and regions, each packed into one number as in `LocaleTag`.
///
/// Source: Unicode CLDR 48 (likely subtags, language aliases, parent locales, language matching), RFC 5646.
enum LanguageTables {
    /// The area of world English, "en-001".
    static let world = packed("001")
    private static let chinese = packed("zh")
    private static let english = packed("en")
    private static let german = packed("de")
    private static let spanish = packed("es")
    private static let portuguese = packed("pt")
    private static let serbian = packed("sr")
    private static let brazil = packed("br")
    private static let portugal = packed("pt")
    private static let britain = packed("gb")
    private static let unitedKingdom = packed("uk")
    private static let unitedStates = packed("us")
    private static let latinAmerica = packed("419")
    private static let hongKong = packed("hk")
    private static let macao = packed("mo")
    private static let nynorsk = packed("nn")
    private static let bokmal = packed("nb")
    private static let simplified = packed("hans")
    private static let traditional = packed("hant")

    /// Languages that are written like Chinese, Cantonese among them.
    private static let sinitic = [
        "yue", "wuu", "hak", "nan", "gan", "hsn", "cdo", "cjy", "cpx", "mnp", "lzh",
    ].map(packed)

    /// Swiss German and Luxembourgish.
    private static let likeGerman = ["gsw", "lb"].map(packed)

    private static let americas = [
        "ar", "bo", "br", "bz", "cl", "co", "cr", "cu", "do", "ec", "gt", "hn", "mx", "ni", "pa", "pe", "pr", "py",
        "sv", "us", "uy", "ve",
    ].map(packed)

    /// Regions that write English as in the United States.
    private static let americanEnglish = ["as", "ca", "gu", "mh", "mp", "ph", "pr", "um", "us", "vi"].map(packed)

    /// Returns the tag that stands for a legacy or three-letter code of a language; nil: the code is current.
    static func alias(of language: UInt64) -> LanguageAlias? { aliasesByCode[language] }

    /// Returns the script in which a language is likely written in a region; 0: unknown. Region 0: anywhere.
    static func script(of language: UInt64, in region: UInt64) -> UInt64 { likely.script(of: language, in: region) }

    /// Returns the region where a language is likely written in a script; 0: unknown. Script 0: the usual one.
    static func region(of language: UInt64, in script: UInt64) -> UInt64 { likely.region(of: language, in: script) }

    /// Returns the script that a name of Windows stands for; 0: it is none.
    static func script(named name: UInt64) -> UInt64 {
        switch name {
        case packed("chs"): simplified
        case packed("cht"): traditional
        default: 0
        }
    }

    /// Returns the region that a code stands for: many write "en-UK".
    static func current(region: UInt64) -> UInt64 { region == unitedKingdom ? britain : region }

    static func isChinese(_ language: UInt64) -> Bool { language == chinese || sinitic.contains(language) }

    static func isReadInAllScripts(_ language: UInt64) -> Bool { language == serbian }

    /// Whether readers of a language also read another one, which more messages offer.
    static func reads(_ language: UInt64, also other: UInt64) -> Bool {
        switch other {
        case bokmal: language == nynorsk
        case chinese: sinitic.contains(language)
        case german: likeGerman.contains(language)
        default: false
        }
    }

    /// Returns the region whose standard another one follows: in English, in Spanish in the Americas, in Portuguese
    /// outside of Brazil, and in Chinese in Macao.
    static func standard(of region: UInt64, language: UInt64) -> UInt64? {
        let standard: UInt64
        switch language {
        case english: standard = americanEnglish.contains(region) ? unitedStates : britain
        case spanish where americas.contains(region): standard = latinAmerica
        case portuguese where region != brazil: standard = portugal
        case chinese where region == macao: standard = hongKong
        default: return nil
        }
        return region == 0 || region == standard ? nil : standard
    }

    /// World English is that of all regions but those of American English.
    static func followsWorld(_ region: UInt64, language: UInt64) -> Bool {
        language == english && region != 0 && region != world && !americanEnglish.contains(region)
    }

    fileprivate static func packed(_ text: some StringProtocol) -> UInt64 {
        text.utf8.reduce(0) { $0 << 8 | UInt64($1 | 0x20) }
    }

    private static let likely = LikelySubtags(likelySubtags)

    private static let aliasesByCode: [UInt64: LanguageAlias] = {  // lookup only
        var byCode: [UInt64: LanguageAlias] = [:]  // lookup only
        for entry in aliases.split(whereSeparator: \.isWhitespace) {
            byCode[packed(entry.prefix { $0 != ":" })] = LanguageAlias(entry.drop { $0 != ":" }.dropFirst())
        }
        return byCode
    }()
}

/// The tag that stands for a legacy code: "sr" in "Latn" for "sh".
struct LanguageAlias: Equatable, Sendable {
    private(set) var language: UInt64 = 0
    private(set) var script: UInt64 = 0
    private(set) var region: UInt64 = 0

    fileprivate init(_ tag: Substring) {
        for subtag in tag.split(separator: "-") {
            if language == 0 {
                language = LanguageTables.packed(subtag)
            } else if subtag.utf8.count == 4 {
                script = LanguageTables.packed(subtag)
            } else {
                region = LanguageTables.packed(subtag)
            }
        }
    }
}

/// The most likely scripts and regions of languages.
private struct LikelySubtags: Sendable {
    private struct Key: Hashable {
        let language: UInt64
        /// A region or a script; 0: none is known.
        let other: UInt64
    }

    private var scripts: [Key: UInt64] = [:]  // lookup only
    private var regions: [Key: UInt64] = [:]  // lookup only

    /// - Parameter text: tags of language, script and region. Of tags with equal keys the first counts.
    init(_ text: String) {
        for tag in text.split(whereSeparator: \.isWhitespace) {
            let subtags = tag.split(separator: "-").map(LanguageTables.packed)
            precondition(subtags.count == 3, "a likely tag has a language, a script and a region")
            let (language, script, region) = (subtags[0], subtags[1], subtags[2])
            for key in [0, region].map({ Key(language: language, other: $0) }) where scripts[key] == nil {
                scripts[key] = script
            }
            for key in [0, script].map({ Key(language: language, other: $0) }) where regions[key] == nil {
                regions[key] = region
            }
        }
    }

    func script(of language: UInt64, in region: UInt64) -> UInt64 {
        scripts[Key(language: language, other: region)] ?? scripts[Key(language: language, other: 0)] ?? 0
    }

    func region(of language: UInt64, in script: UInt64) -> UInt64 {
        regions[Key(language: language, other: script)] ?? regions[Key(language: language, other: 0)] ?? 0
    }
}
