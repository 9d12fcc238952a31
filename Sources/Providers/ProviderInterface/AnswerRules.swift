/// The facts about a provider's answers that its lane and the engine need before they ask it to classify one.
package struct AnswerRules: Equatable, Sendable {
    /// Whether a 200 is a success only if its body says so.
    ///
    /// False: a 200 is a plain success, whatever its body is, even if it was cut off. `classify` does not see it. True:
    /// `classify` reads each 200, and one whose body was cut off is no answer.
    package let successIsInBody: Bool
    /// Answers with these statuses don't count in the provider's pace.
    package let uncountedStatuses: [UInt16]
    /// The longest body that is read. A success in a longer one is no answer.
    package let bodyBytesMax: Int

    package init(successIsInBody: Bool = false, uncountedStatuses: [UInt16] = [], bodyBytesMax: Int = 4_096) {
        precondition(bodyBytesMax > 0)
        (self.successIsInBody, self.uncountedStatuses) = (successIsInBody, uncountedStatuses)
        self.bodyBytesMax = bodyBytesMax
    }

    /// Asked for each answer.
    @inlinable package func isPlainSuccess(_ status: UInt16) -> Bool { status == 200 && !successIsInBody }
}
