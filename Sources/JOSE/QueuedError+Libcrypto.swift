#if !canImport(CryptoKit)
    import CLodgeOpenSSL

    /// An error of libcrypto's queue of the thread.
    struct QueuedError {
        let code: UInt
        /// The name of the error, or an empty string.
        let reason: String
        /// The data of the error, or an empty string.
        let text: String

        func isError(_ library: Int32, _ reason: Int32) -> Bool {
            ERR_GET_LIB(code) == library && ERR_GET_REASON(code) == reason
        }

        /// Returns all errors of the queue, oldest first, and removes them.
        static func all() -> [QueuedError] {
            var errors: [QueuedError] = []
            var text: UnsafePointer<CChar>?
            var flags: Int32 = 0
            while case let code = ERR_get_error_all(nil, nil, nil, &text, &flags), code != 0 {
                let isText = flags & ERR_TXT_STRING != 0
                errors.append(
                    QueuedError(
                        code: code, reason: ERR_reason_error_string(code).map { String(cString: $0) } ?? "",
                        text: isText ? text.map { String(cString: $0) } ?? "" : ""))
            }
            return errors
        }
    }

    extension [QueuedError] {
        /// The algorithm that libcrypto did not find, or `nil` if it found all.
        ///
        /// The text is `Global default library context, Algorithm (RC2-40-CBC : 0), Properties ()`.
        var unsupportedAlgorithm: String? {
            for error in self {
                guard let name = error.text.firstRange(of: "Algorithm (") else { continue }
                return String(error.text[name.upperBound...].prefix { $0 != " " && $0 != ")" })
            }
            return nil
        }
    }
#endif
