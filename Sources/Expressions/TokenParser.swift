/// A parser that takes the tokens of a text from the left.
///
/// Filters, read rules and triggers have tokens of their own, which their parsers walk in the same way.
package protocol TokenParser {
    associatedtype Token: ParsedToken

    /// All tokens of the text. The last one is the end.
    var tokens: [Token] { get }
    /// The index of the next token.
    var place: Int { get set }
}

package protocol ParsedToken {
    associatedtype Kind: ParsedTokenKind

    var kind: Kind { get }
}

package protocol ParsedTokenKind: Equatable {
    static func symbol(_ symbol: String) -> Self
}

extension TokenParser {
    /// The next token; the end is never passed.
    package var token: Token { tokens[place] }

    package mutating func advance() {
        if place < tokens.count - 1 { place += 1 }
    }

    /// Takes the next token if it is of this kind.
    package mutating func take(_ kind: Token.Kind) -> Bool {
        guard token.kind == kind else { return false }
        advance()
        return true
    }

    package mutating func takeSymbol(_ symbol: String) -> Bool { take(.symbol(symbol)) }
}
