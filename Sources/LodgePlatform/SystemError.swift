/// An error of the operating system.
package struct SystemError: Error, Equatable {
    /// The value of `errno`, or 0 if no system call failed.
    package let code: Int32
    package let explanation: String

    /// Creates an error from a code. The default is the last failed system call.
    package init(_ code: Int32 = errno) {
        self.code = code
        explanation = systemMessage(code)
    }

    package init(explanation: String) {
        code = 0
        self.explanation = explanation
    }
}

/// Returns the system's message for an error code. The default is the last failed system call.
package func systemMessage(_ code: Int32 = errno) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
