import Basis
import Requests
import Testing

/// One invalid input, and the problem that it must cause.
struct Refusal: Sendable, CustomTestStringConvertible {
    let input: String
    let code: ProblemCode
    /// nil if the problem has no pointer.
    let pointer: String?

    init(_ input: String, _ code: ProblemCode, _ pointer: String? = nil) {
        self.input = input
        self.code = code
        self.pointer = pointer
    }

    var testDescription: String { "\(code.rawValue) \(pointer ?? "-"): \(input.prefix(90))" }
    var bytes: [UInt8] { Array(input.utf8) }

    func check<Value>(_ read: ([UInt8]) throws(Problem) -> Value) {
        let problem = refusal { () throws(Problem) in try read(bytes) }
        #expect(problem?.code == code)
        #expect(problem?.pointer?.description == pointer)
        #expect(problem?.detail.hasSuffix(".") == true, "a problem's detail is a sentence")
    }
}

/// The problem that the work ends with.
func refusal<Value>(_ work: () throws(Problem) -> Value) -> Problem? {
    do throws(Problem) {
        _ = try work()
        return nil
    } catch { return error }
}

/// 2026-12-01T12:00:00Z
let noon = WallInstant(secondsSince1970: 1_796_126_400)
