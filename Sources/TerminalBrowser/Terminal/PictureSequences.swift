import LodgePlatform

/// The bytes that show a picture at the cursor.
enum PictureSequences {
    /// The identifier of the picture in the terminal.
    private static let number = 31
    /// The maximum payload of one command of kitty's protocol.
    private static let chunk = 4096

    // MARK: kitty

    /// The query for support of kitty's graphics. It shows nothing.
    static let kittyQuery = "\u{1B}_Gi=\(number),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\"
    static func isKittyResponse(_ text: String) -> Bool { text.hasPrefix("Gi=\(number);OK") }
    static let kittyRemoval = "\u{1B}_Ga=d,d=I,i=\(number),q=2\u{1B}\\"

    /// Returns the command for kitty's graphics: the file itself if it is a PNG, otherwise the pixels.
    ///
    /// See [the graphics protocol](https://sw.kovidgoyal.net/kitty/graphics-protocol/).
    static func kitty(_ picture: KittyPicture, columns: Int, rows: Int) -> String {
        let (format, data): (String, Data) =
            switch picture {
            case .png(let file): ("f=100", file)
            case .pixels(let pixels): ("f=24,s=\(pixels.width),v=\(pixels.height)", Data(pixels.bytes))
            }
        let text = Array(data.base64EncodedString().utf8)
        var sequence = ""
        var start = 0
        repeat {
            let end = min(start + chunk, text.count)
            let control = start == 0 ? "a=T,\(format),c=\(columns),r=\(rows),i=\(number),q=2,C=1," : ""
            sequence += "\u{1B}_G\(control)m=\(end < text.count ? 1 : 0);"
            sequence += String(decoding: text[start..<end], as: UTF8.self) + "\u{1B}\\"
            start = end
        } while start < text.count
        return sequence
    }

    /// A picture in a format that kitty accepts.
    enum KittyPicture {
        case png(Data)
        case pixels(Pixels)
    }

    // MARK: Sixel

    /// Returns the sixel sequence: a palette of 216 colors with error diffusion.
    ///
    /// See [DEC's sixel graphics](https://vt100.net/docs/vt3xx-gp/chapter14.html).
    static func sixel(_ pixels: Pixels) -> String {
        let colors = cube(pixels)
        var sequence = "\u{1B}P0;1;0q\"1;1;\(pixels.width);\(pixels.height)"
        for color in Set(colors).sorted() {
            let (red, green, blue) = (Int(color) / 36, Int(color) / 6 % 6, Int(color) % 6)
            sequence += "#\(color);2;\(red * 20);\(green * 20);\(blue * 20)"
        }
        for top in stride(from: 0, to: pixels.height, by: 6) {
            let rows = top..<min(top + 6, pixels.height)
            let used = Set(colors[(rows.lowerBound * pixels.width)..<(rows.upperBound * pixels.width)]).sorted()
            for color in used {
                sequence += "#\(color)"
                var run: (letter: UInt8, count: Int) = (0, 0)
                for column in 0..<pixels.width {
                    var bits: UInt8 = 0
                    for row in rows where colors[row * pixels.width + column] == color { bits |= 1 << (row - top) }
                    if run.letter == bits + 63 {
                        run.count += 1
                    } else {
                        sequence += repeated(run)
                        run = (bits + 63, 1)
                    }
                }
                sequence += repeated(run) + "$"
            }
            sequence += "-"
        }
        return sequence + "\u{1B}\\"
    }

    private static func repeated(_ run: (letter: UInt8, count: Int)) -> String {
        let letter = String(Unicode.Scalar(run.letter))
        return run.count > 3 ? "!\(run.count)\(letter)" : String(repeating: letter, count: run.count)
    }

    /// Maps each pixel to one of the 6×6×6 colors, with Floyd–Steinberg dithering.
    private static func cube(_ pixels: Pixels) -> [UInt8] {
        var values = pixels.bytes.map { Int($0) }
        var colors = [UInt8](repeating: 0, count: pixels.width * pixels.height)
        for row in 0..<pixels.height {
            for column in 0..<pixels.width {
                let position = row * pixels.width + column
                var color = 0
                for part in 0..<3 {
                    let value = min(max(values[position * 3 + part], 0), 255)
                    let level = (value + 25) / 51
                    color = color * 6 + level
                    let rest = value - level * 51
                    if column + 1 < pixels.width { values[(position + 1) * 3 + part] += rest * 7 / 16 }
                    guard row + 1 < pixels.height else { continue }
                    let below = position + pixels.width
                    if column > 0 { values[(below - 1) * 3 + part] += rest * 3 / 16 }
                    values[below * 3 + part] += rest * 5 / 16
                    if column + 1 < pixels.width { values[(below + 1) * 3 + part] += rest / 16 }
                }
                colors[position] = UInt8(color)
            }
        }
        return colors
    }

    // MARK: Blocks

    /// Returns lines of half blocks: the foreground color is the upper pixel, the background the lower.
    ///
    /// Each line has two rows of pixels.
    static func blocks(_ pixels: Pixels, hasAllColors: Bool) -> [String] {
        func color(_ point: (red: UInt8, green: UInt8, blue: UInt8)) -> String {
            if hasAllColors { return "2;\(point.red);\(point.green);\(point.blue)" }
            func level(_ value: UInt8) -> Int { value < 48 ? 0 : value < 115 ? 1 : (Int(value) - 35) / 40 }
            return "5;\(16 + 36 * level(point.red) + 6 * level(point.green) + level(point.blue))"
        }
        return stride(from: 0, to: pixels.height - pixels.height % 2, by: 2).map { row in
            var line = ""
            for column in 0..<pixels.width {
                line += "\u{1B}[38;\(color(pixels[column, row]));48;\(color(pixels[column, row + 1]))m▀"
            }
            return line
        }
    }
}
