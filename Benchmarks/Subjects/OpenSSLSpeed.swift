/// `openssl speed`, which counts signatures in processor time.
struct OpenSSLSpeed {
    enum Operation: String {
        case rsa2048
        case ecdsaP256 = "ecdsap256"

        /// How the line of its results begins in the form for machines.
        var mark: String {
            switch self {
            case .rsa2048: "+F2:"
            case .ecdsaP256: "+F4:"
            }
        }
    }

    let path: String
    let environment: [String: String]

    /// Verifications in a second of processor time.
    func verifications(_ operation: Operation, seconds: Int) throws(BenchmarkError) -> Double {
        let program = Program(
            path: path, arguments: ["speed", "-mr", "-seconds", "\(seconds)", operation.rawValue],
            environment: environment)
        // +F2:index:bits:signatures a second:verifications a second
        let line = try program.output().split(separator: "\n").first { $0.hasPrefix(operation.mark) }
        guard let field = line?.split(separator: ":").last, let rate = Double(field), rate > 1 else {
            throw BenchmarkError("openssl speed \(operation.rawValue) gave no line \(operation.mark)")
        }
        return rate
    }
}
