import Basis
import Model

/// Chooses the text of a message for a device: matches its languages, in the sender's order, with the device's locale.
///
/// Texts are numbered as they are compiled: 0 is the common one, i is that of the i-th locale, from 1 on. Decision 0012
/// says why related locales match, and which goes first.
package struct LocaleTable: Equatable, Sendable {
    /// The longest tag that BCP 47 asks implementations to hold.
    package static let localeBytesMax = 35

    private let tags: [LocaleTag]

    /// A name that is no locale matches no device.
    package init(_ locales: [String]) { tags = locales.map { LocaleTag(reading: Array($0.utf8).span) } }

    /// Accepts any locale that devices report: "fr-CA", "fr_CA.UTF-8", "zh_TW_#Hant", "b+zh+Hant", or noise.
    package func variant(for locale: Span<UInt8>) -> Int {
        guard !tags.isEmpty, !locale.isEmpty else { return 0 }
        let reader = LocaleTag(reading: locale)
        var best: (score: Int, variant: Int) = (0, 0)
        for (place, tag) in tags.enumerated() {
            // Among equally good locales, the first in the sender's order.
            if let score = reader.score(of: tag), score > best.score { best = (score, place + 1) }
        }
        return best.variant
    }

    /// The texts as they are compiled: the common one, then each locale's. A locale takes a missing member from the
    /// next broader locale of the message (fr-CA, fr), and finally from the common text.
    package static func texts(_ common: NotificationText?, _ localizations: [Localization]) -> [NotificationText?] {
        let table = LocaleTable(localizations.map(\.locale))
        return [common]
            + localizations.indices.map { place -> NotificationText? in
                var text = localizations[place].text
                var at = place
                while let broader = table.broader(than: at) {
                    text = text.over(localizations[broader].text)
                    at = broader
                }
                return common.map { text.over($0) } ?? text
            }
    }

    /// Each result is broader than the locale before, so the search ends.
    private func broader(than place: Int) -> Int? {
        var best: (score: Int, place: Int)?
        for (other, tag) in tags.enumerated() where tag.isBroader(than: tags[place]) {
            guard let score = tags[place].score(of: tag), score > best?.score ?? 0 else { continue }
            best = (score, other)
        }
        return best?.place
    }

    /// True for a valid sender's locale: language, then script, region and so on, as in BCP 47; `_` stands for `-`.
    package static func isLocale(_ text: String) -> Bool {
        guard text.utf8.count <= localeBytesMax else { return false }
        let subtags = text.utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard let language = subtags.first, (2...3).contains(language.count), language.allSatisfy(\.isLetter) else {
            return false
        }
        return subtags.allSatisfy { (1...8).contains($0.count) && $0.allSatisfy { $0.isLetter || $0.isDigit } }
    }

    /// True for a device's locale, in the form of BCP 47 ("zh-Hant-TW"), ICU ("en_US@rg=gbzzzz"), Java ("zh_TW_#Hant"),
    /// Android ("b+zh+Hant") or POSIX ("fr_CA.UTF-8").
    package static func isReported(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let isAndroids = bytes.starts(with: "b+".utf8) || bytes.starts(with: "B+".utf8)
        let tag = bytes[(isAndroids ? 2 : 0)...].prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "@") }
        let subtags = tag.split(omittingEmptySubsequences: false, whereSeparator: \.separatesSubtags)
        guard let language = subtags.first, (2...3).contains(language.count), language.allSatisfy(\.isLetter) else {
            return false
        }
        return bytes.allSatisfy(\.isVisible) && subtags.allSatisfy { $0.allSatisfy { $0.isLetter || $0.isDigit } }
    }

    /// The language of a device's locale, in lower case: "fr" of "fr-CA", and "he" of "iw", its legacy code. nil: it names
    /// none.
    package static func language(of locale: String) -> String? {
        let language = LocaleTag(reading: Array(locale.utf8).span).language
        guard language != 0 else { return nil }
        let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: language >> ($0 * 8)) }
        return String(decoding: bytes.drop { $0 == 0 }, as: UTF8.self)
    }

    /// The first two names of one locale ("iw" and "he", "zh-TW" and "zh-Hant_TW"); nil if there are none.
    package static func duplicates(in locales: [String]) -> (first: Int, second: Int)? {
        let tags = LocaleTable(locales).tags
        for second in tags.indices {
            if let first = tags[..<second].firstIndex(of: tags[second]) { return (first, second) }
        }
        return nil
    }
}

/// A locale in parts, each packed into one number: its letters in lower case, the first in the highest byte used.
struct LocaleTag: Hashable, Sendable {
    /// 0: none. Legacy codes are replaced.
    private(set) var language: UInt64 = 0
    /// The written script, or the one that the region implies. 0: none, or unknown.
    private(set) var script: UInt64 = 0
    private(set) var region: UInt64 = 0
    private(set) var variant: UInt64 = 0
    /// The script, or the most likely one of the language. 0: unknown.
    private var likelyScript: UInt64 = 0
    /// The region, or the most likely one of the language in its script. 0: unknown.
    private var likelyRegion: UInt64 = 0

    /// No real locale is longer. A longer one is read up to here.
    private static let bytesMax = 128

    init(reading text: Span<UInt8>) {
        var index = text.count > 2 && text[0] | 0x20 == UInt8(ascii: "b") && text[1] == UInt8(ascii: "+") ? 2 : 0
        let end = min(text.count, Self.bytesMax)
        while index < end {
            var subtag: UInt64 = 0
            let start = index
            while index < end, let byte = text[index].asLocaleByte {
                subtag = subtag << 8 | UInt64(byte)
                index += 1
            }
            let count = index - start
            // A longer part is no subtag, and a single letter begins the extensions.
            guard count <= 8, count != 1 else { break }
            // A tag that begins with a digit has no language, and so is no locale.
            if language == 0, text[start].isDigit { break }
            if count > 0 { take(subtag, text.extracting(start..<index)) }
            guard index < end, text[index].separatesSubtags else { break }
            index += 1
        }
        region = LanguageTables.current(region: region)
        replaceAlias()
        if script == 0, region != 0 { script = LanguageTables.script(of: language, in: region) }
        findLikelySubtags()
    }

    private mutating func replaceAlias() {
        guard let alias = LanguageTables.alias(of: language) else { return }
        language = alias.language
        if script == 0 { script = alias.script }
        if region == 0 { region = alias.region }
    }

    private mutating func findLikelySubtags() {
        likelyScript = script == 0 ? LanguageTables.script(of: language, in: 0) : script
        likelyRegion = region == 0 ? LanguageTables.region(of: language, in: script) : region
    }

    private mutating func take(_ subtag: UInt64, _ text: Span<UInt8>) {
        let isNumber = text[0].isDigit
        switch text.count {
        case _ where language == 0: language = subtag
        case 2 where region == 0 && !isNumber, 3 where region == 0 && isNumber: region = subtag
        // Android resource folders write "fr-rCA".
        case 3 where region == 0 && text[0] == UInt8(ascii: "r") && text[1].isCapital && text[2].isCapital:
            region = subtag & 0xffff
        // An extended language: "zh-yue" is "yue".
        case 3 where LanguageTables.isChinese(subtag) && LanguageTables.isChinese(language): language = subtag
        // Windows writes "zh-CHT".
        case 3 where script == 0: script = LanguageTables.script(named: subtag)
        case 4 where script == 0 && !isNumber: script = subtag
        case 4... where variant == 0: variant = subtag
        default: break
        }
    }

    /// A text in the reader's own language comes before any in a related one.
    private static let ownLanguage = 1_000

    /// How well a text in `other` serves a reader of this locale: above 0; nil if not at all.
    func score(of other: LocaleTag) -> Int? {
        guard language != 0, other.language != 0 else { return nil }
        if language != other.language {
            guard LanguageTables.reads(language, also: other.language) else { return nil }
            var reader = self
            (reader.language, reader.script) = (other.language, likelyScript)
            reader.findLikelySubtags()
            return reader.score(of: other).map { $0 - Self.ownLanguage }
        }
        let (own, its) = (likelyScript, other.likelyScript)
        // Two scripts are two languages for a reader, except in Serbian. But a bare "zh" is meant for all readers of
        // Chinese.
        let isMeantForAll = other.script == 0 && other.region == 0
        guard own == 0 || its == 0 || own == its || isMeantForAll || LanguageTables.isReadInAllScripts(language) else {
            return nil
        }
        return Self.ownLanguage + 2 + (own == its ? 100 : 0) + 10 * nearness(of: other)
            + (variant == other.variant ? 2 : 0)
            // "zh" implies "zh-Hans". If both exist, the explicit one comes first, except for a reader of "zh".
            + (script == other.script ? 1 : 0)
    }

    /// True if this is `tag` without its region or variant, or with the region that its region follows.
    func isBroader(than tag: LocaleTag) -> Bool {
        guard language == tag.language, breadth > tag.breadth, variant == 0 || variant == tag.variant,
            script == 0 || tag.script == 0 || script == tag.script
        else { return false }
        return region == 0 || region == tag.region || tag.follows(region)
    }

    /// 0 for a variant in a region that follows another.
    private var breadth: Int {
        let ofRegion =
            switch region {
            case 0: 6
            case LanguageTables.world: 4
            default: standard == nil ? 2 : 0
            }
        return ofRegion + (variant == 0 ? 1 : 0)
    }

    /// The region whose standard its own region follows.
    private var standard: UInt64? { LanguageTables.standard(of: likelyRegion, language: language) }

    /// Whether the standard of another region, or of a larger area, applies in its own region.
    private func follows(_ area: UInt64) -> Bool {
        area == standard
            || area == LanguageTables.world && LanguageTables.followsWorld(likelyRegion, language: language)
    }

    /// How near another region is.
    ///
    /// - 5: the same region
    /// - 4: the most likely region of the reader's language, or the one that the reader's own follows
    /// - 3: all regions
    /// - 2: a region with the same standard
    /// - 1: the most likely region
    /// - 0: a related region
    private func nearness(of other: LocaleTag) -> Int {
        guard other.variant == variant || other.variant == 0 else { return 0 }
        if other.region == region { return 5 }
        if other.region == 0 { return 3 }
        if other.region == likelyRegion || follows(other.region) { return 4 }
        if standard ?? likelyRegion == other.standard ?? other.region { return 2 }
        return other.region == LanguageTables.region(of: language, in: script) ? 1 : 0
    }
}

extension UInt8 {
    /// The byte in lower case; nil if no subtag contains it.
    fileprivate var asLocaleByte: UInt8? { isLetter ? self | 0x20 : isDigit ? self : nil }

    /// Java marks scripts with a number sign, in a separate place: "sr__#Latn".
    fileprivate var separatesSubtags: Bool {
        self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: "+") || self == UInt8(ascii: "#")
    }
}

extension NotificationText {
    fileprivate func over(_ other: NotificationText) -> NotificationText { NotificationText { self[$0] ?? other[$0] } }
}
