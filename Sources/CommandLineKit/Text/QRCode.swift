import LodgePlatform

/// A QR code (ISO/IEC 18004).
///
/// libqrencode creates it. The library is loaded at run time; the program also runs without it.
package struct QRCode: Equatable {
    /// The rows from the top, as many as columns. `true` is a dark module.
    let modules: [[Bool]]

    /// Creates a code from its rows, which must form a square.
    package init(modules: [[Bool]]) { self.modules = modules }

    package enum Failure: Error, Equatable {
        /// libqrencode is not installed, or is a different library.
        case noLibrary
        /// The text is longer than the maximum of a code: 2,953 bytes.
        case tooLong
    }

    private static let libraries = ["libqrencode.so.4", "libqrencode.so.3", "libqrencode.4.dylib", "libqrencode.dylib"]

    /// The package to install.
    package static var packageName: String {
        platformValue(
            linux: "libqrencode4 (Debian, Ubuntu) or qrencode-libs (Fedora)",
            darwin: "qrencode (brew install qrencode)")
    }

    /// The first members of `QRcode` in qrencode.h.
    private struct Symbol {
        var version: Int32
        var width: Int32
        var data: UnsafeMutablePointer<UInt8>?
    }

    private typealias Encode = @convention(c) (Int32, UnsafePointer<UInt8>, Int32, Int32) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    /// Creates the code of a string, with the lowest error correction level.
    ///
    /// A screen needs no more, and the code is smaller.
    package init(_ text: String) throws(Failure) {
        // The types match the library's header.
        let encode: Encode
        let free: Free
        do throws(DynamicLibrary.Missing) {
            let library = try DynamicLibrary(fileNames: Self.libraries)
            encode = try library.function("QRcode_encodeData")
            free = try library.function("QRcode_free")
        } catch {
            throw .noLibrary
        }
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, let code = encode(Int32(clamping: bytes.count), bytes, 0, 0) else { throw .tooLong }
        defer { free(code) }
        let symbol = code.load(as: Symbol.self)
        let width = Int(symbol.width)
        guard let data = symbol.data, (21...177).contains(width) else { throw .noLibrary }
        // The lowest bit of a module is 1 for dark.
        modules = (0..<width).map { row in (0..<width).map { data[row * width + $0] & 1 == 1 } }
    }

    /// The width of the light border that ISO/IEC 18004 requires.
    static let quietZone = 4

    package var columns: Int { modules.count + 2 * Self.quietZone }

    /// Returns the lines that draw the code. Each line has two rows of modules.
    ///
    /// With color, it is black on white, independent of the terminal's colors. Without color, light modules are drawn:
    /// this is correct on a dark background and inverted on a light one.
    package func lines(withColor: Bool) -> [String] {
        let width = columns
        func isDark(_ row: Int, _ column: Int) -> Bool {
            let row = row - Self.quietZone, column = column - Self.quietZone
            return modules.indices.contains(row) && modules.indices.contains(column) && modules[row][column]
        }
        return stride(from: 0, to: width, by: 2).map { row in
            var line = ""
            for column in 0..<width {
                // Below the last row is the background: light with color, not drawn without.
                let upper = isDark(row, column) == withColor
                let lower = row + 1 < width ? isDark(row + 1, column) == withColor : false
                line += upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
            }
            // Black and white of the 256-color palette, which themes do not change.
            return withColor ? "\u{1B}[38;5;16;48;5;231m\(line)\u{1B}[0m" : line
        }
    }
}
