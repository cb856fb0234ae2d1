import Platform

/// A QR code (ISO/IEC 18004): a square of dark and light modules that a camera reads.
///
/// libqrencode creates it, loaded at run time: the program also runs without the library.
package struct QRCode: Equatable {
    /// The rows from the top; true is dark. As many columns as rows.
    let modules: [[Bool]]

    /// The rows, which must be as long as there are rows.
    package init(modules: [[Bool]]) { self.modules = modules }

    package enum Failure: Error, Equatable {
        /// libqrencode is not installed, or is another one.
        case noLibrary
        /// The text has more bytes than a code holds: 2,953.
        case tooLong
    }

    private static let libraries = ["libqrencode.so.4", "libqrencode.so.3", "libqrencode.4.dylib", "libqrencode.dylib"]

    /// What to install, in words.
    package static var packageName: String {
        #if os(Linux)
            "libqrencode4 (Debian, Ubuntu) or qrencode-libs (Fedora)"
        #else
            "qrencode (brew install qrencode)"
        #endif
    }

    /// The beginning of what the library gives: `QRcode` of qrencode.h.
    private struct Symbol {
        var version: Int32
        var width: Int32
        var data: UnsafeMutablePointer<UInt8>?
    }

    private typealias Encode = @convention(c) (Int32, UnsafePointer<UInt8>, Int32, Int32) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    /// The code of a text, with the lowest level of error correction: a screen is clean, and the code smaller.
    ///
    package init(_ text: String) throws(Failure) {
        // The types are those of the library's header.
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
        // The lowest bit of a module says whether it is dark.
        modules = (0..<width).map { row in (0..<width).map { data[row * width + $0] & 1 == 1 } }
    }

    /// How many light modules surround the code, so that it is told from what is around it.
    static let quietZone = 4

    package var columns: Int { modules.count + 2 * Self.quietZone }

    /// The lines that draw it, two rows of modules each.
    ///
    /// With colour it is black on white whatever the terminal's own colours are. Without, light modules are drawn and dark ones
    /// left out: right on a dark background, and turned round on a light one.
    package func lines(withColor: Bool) -> [String] {
        let width = columns
        func isDark(_ row: Int, _ column: Int) -> Bool {
            let row = row - Self.quietZone, column = column - Self.quietZone
            return modules.indices.contains(row) && modules.indices.contains(column) && modules[row][column]
        }
        return stride(from: 0, to: width, by: 2).map { row in
            var line = ""
            for column in 0..<width {
                // Below the last row there is nothing to draw: it counts as light with colour, and as nothing without.
                let upper = isDark(row, column) == withColor
                let lower = row + 1 < width ? isDark(row + 1, column) == withColor : false
                line += upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
            }
            // Black and white of the palette of 256 colours, which themes do not change.
            return withColor ? "\u{1B}[38;5;16;48;5;231m\(line)\u{1B}[0m" : line
        }
    }
}
