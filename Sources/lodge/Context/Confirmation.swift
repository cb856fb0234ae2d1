import CommandLineKit

extension CommandContext {
    private nonisolated static let maximumLine = 1024

    /// Reads the reply to a prompt that ends with "[y/N]".
    func isConfirmed() async throws -> Bool {
        let line = try await world.readLine(Self.maximumLine) ?? ""
        return ["y", "yes"].contains(line.lowercased().filter { $0 != " " && $0 != "\t" && $0 != "\r" })
    }
}
