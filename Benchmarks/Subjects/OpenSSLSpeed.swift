/// `openssl speed`, which measures signatures in processor time.
struct OpenSSLSpeed {
    enum Operation: String {
        case rsa2048
        case ecdsaP256 = "ecdsap256"

        /// The prefix of its result line in machine-readable output.
        var mark: String {
            switch self {
            case .rsa2048: "+F2:"
            case .ecdsaP256: "+F4:"
            }
        }
    }

    let path: String
    let environment: [String: String]

    /// Returns the verifications per second of processor time.
    func verifications(_ operation: Operation, seconds: Int) throws(BenchmarkError) -> Double {
        let program = Program(
            path: path, arguments: ["speed", "-mr", "-seconds", "\(seconds)", operation.rawValue],
            environment: environment)
        // +F2:index:bits:signatures per second:verifications per second
        let line = try program.output().split(separator: "\n").first { $0.hasPrefix(operation.mark) }
        guard let field = line?.split(separator: ":").last, let rate = Double(field), rate > 1 else {
            throw BenchmarkError("openssl speed \(operation.rawValue) printed no line \(operation.mark)")
        }
        return rate
    }
}
