import Foundation
import Testing

@testable import TerminalBrowser

/// Tests images in terminals.
@Suite struct TerminalPicturesTests {
    private func graphics(_ environment: [String: String] = ["TERM": "xterm-256color"], colors: Int = 256)
        -> TerminalGraphics
    {
        var graphics = TerminalGraphics(environment: environment, isUnicode: true)
        graphics.colors = colors
        return graphics
    }

    @Test func `terminal reports select the image protocol`() {
        var kitty = graphics()
        kitty.take(.application("Gi=31;OK"))
        #expect(kitty.method == .kitty && kitty.isAvailable && !kitty.hasResponse)
        kitty.take(.control("?62;c", "c"))
        #expect(kitty.hasResponse)
        var sixel = graphics()
        sixel.take(.control("?62;4;22", "c"))
        #expect(sixel.method == .sixel && sixel.isAvailable)
        var other = graphics()
        other.take(.control("?4;22", "c"))
        other.take(.application("Gi=31;ENOENT"))
        #expect(other.method == .blocks(hasAllColors: false) && !other.isAvailable)
        #expect(graphics(["TERM": "x", "COLORTERM": "truecolor"]).method == .blocks(hasAllColors: true))
        #expect(graphics(colors: 8).method == .none)
    }

    @Test func `the terminal reports the cell size`() {
        var graphics = graphics()
        graphics.take(.control("6;18;9", "t"))
        #expect(graphics.cell?.width == 9 && graphics.cell?.height == 18)
        graphics.take(.control("6;0;0", "t"))
        graphics.take(.control("8;24;80", "t"))
        #expect(graphics.cell?.width == 9)
    }

    @Test func `a terminal that would print the query receives none`() {
        #expect(graphics(["TERM": "linux"]).query == nil)
        #expect(graphics().query?.hasSuffix("\u{1B}[c") == true)
    }

    @Test func `a scaled image keeps its proportions`() {
        let wide = Pixels(width: 200, height: 100, bytes: [])
        #expect(wide.fitted(into: 100, 100) == (100, 50))
        #expect(wide.fitted(into: 100, 10) == (20, 10))
        #expect(Pixels(width: 1, height: 1000, bytes: []).fitted(into: 10, 10) == (1, 10))
    }

    @Test func `a scaled pixel is the mean of the pixels that it covers`() {
        let picture = Pixels(width: 2, height: 2, bytes: [0, 0, 0, 100, 0, 0, 200, 0, 0, 100, 0, 0])
        #expect(picture.scaled(to: 1, 1).bytes == [100, 0, 0])
        #expect(picture.scaled(to: 4, 4).scaled(to: 2, 2) == picture)
    }

    @Test func `Kitty receives pixels in chunks of at most 4096 bytes, or the unchanged PNG`() {
        let pixels = Pixels(width: 64, height: 64, bytes: [UInt8](repeating: 7, count: 64 * 64 * 3))
        let pieces = PictureSequences.kitty(.pixels(pixels), columns: 8, rows: 4).components(separatedBy: "\u{1B}\\")
        #expect(pieces.count == 5 && pieces.last == "")
        #expect(pieces[0].hasPrefix("\u{1B}_Ga=T,f=24,s=64,v=64,c=8,r=4,i=31,q=2,C=1,m=1;"))
        #expect(pieces[3].hasPrefix("\u{1B}_Gm=0;") && pieces.allSatisfy { $0.utf8.count <= 4096 + 64 })
        let data = pieces.compactMap { $0.split(separator: ";").last }.joined()
        #expect(Data(base64Encoded: data) == Data(pixels.bytes))
        #expect(PictureSequences.kitty(.png(Data([1, 2, 3])), columns: 1, rows: 1).contains("f=100,c=1"))
    }

    @Test func `Sixel draws each color of a band of six rows`() {
        let red = Pixels(width: 5, height: 7, bytes: Array([[UInt8]](repeating: [255, 0, 0], count: 35).joined()))
        #expect(
            PictureSequences.sixel(red)
                == "\u{1B}P0;1;0q\"1;1;5;7#180;2;100;0;0#180!5~$-#180!5@$-\u{1B}\\")
        var halves = red
        for row in 0..<7 {
            halves.bytes.replaceSubrange((row * 15 + 9)..<(row * 15 + 15), with: [0, 0, 255, 0, 0, 255])
        }
        let text = PictureSequences.sixel(halves)
        #expect(text.contains("#5;2;0;0;100") && text.contains("#5???~~$") && text.contains("#180~~~??$"))
    }

    @Test func `block characters show two pixels per cell`() {
        let picture = Pixels(width: 1, height: 2, bytes: [255, 0, 0, 0, 0, 255])
        #expect(PictureSequences.blocks(picture, hasAllColors: true) == ["\u{1B}[38;2;255;0;0;48;2;0;0;255m▀"])
        #expect(PictureSequences.blocks(picture, hasAllColors: false) == ["\u{1B}[38;5;196;48;5;21m▀"])
    }

    /// 16 by 16 points: red on the left, blue on the right. Created with libjpeg-turbo.
    private static let jpeg = """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4R\
        DgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU\
        FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAQABADAREAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAA\
        AAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAk\
        M2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT\
        lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QA\
        HwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdh\
        cRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hp\
        anN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk\
        5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD50r8MP9UzwKv9xj/HQ99r/Dk/2LPAq/3GP8dD/9k=
        """

    @Test func `TurboJPEG decodes a JPEG and rejects a damaged one`() throws {
        guard let library = try? TurboJPEG() else { return }
        #expect(library.pixels(Data([1, 2, 3])) == nil && library.pixels(Data()) == nil)
        let data = try #require(Data(base64Encoded: Self.jpeg))
        let pixels = try #require(library.pixels(data))
        #expect(pixels.width == 16 && pixels.height == 16 && pixels.bytes.count == 768)
        #expect(pixels[1, 8].red > 200 && pixels[1, 8].blue < 50 && pixels[14, 8].blue > 200 && pixels[14, 8].red < 50)
        #expect(library.pixels(data.prefix(300)) == nil || library.pixels(data.prefix(300))?.bytes.count == 768)
    }

    @Test func `a photo is drawn with the available protocol, or a message names the missing support`() throws {
        let data = try #require(Data(base64Encoded: Self.jpeg))
        let area = ScreenArea(column: 60, row: 4, columns: 20, rows: 8)
        func written(_ bytes: Data, _ prepare: (inout TerminalGraphics) -> Void) -> String {
            var graphics = graphics()
            graphics.cell = (10, 20)
            prepare(&graphics)
            var text = ""
            let drawing = CursesDrawing(isUnicode: true)
            let picture = ScreenPicture(name: "a", bytes: bytes, area: area)
            graphics.draw(picture, CursesDrawing.Erased(), drawing) { text += $0 }
            // Drawing the same image again has no effect, except after the screen was erased.
            let first = text
            graphics.draw(picture, CursesDrawing.Erased(), drawing) { text += $0 }
            #expect(text == first)
            graphics.draw(picture, CursesDrawing.Erased(isAll: true), drawing) { text += $0 }
            #expect(text == first + first)
            return first
        }
        let start = "\u{1B}7\u{1B}[0m\u{1B}[5;61H"
        let png = written(Data([0x89, 0x50, 0x4E, 0x47, 1])) { $0.take(.application("Gi=31;OK")) }
        #expect(png.hasPrefix(start + "\u{1B}_Ga=T,f=100") && png.hasSuffix("\u{1B}8"))
        #expect(written(Data([0x89, 0x50, 0x4E, 0x47, 1])) { $0.take(.control("?62;4", "c")) }.contains("PNG"))
        #expect(written(data) { $0.colors = 8 }.contains("too few colors"))
        guard (try? TurboJPEG()) != nil else {
            #expect(written(data) { _ in }.contains("libturbojpeg"))
            return
        }
        #expect(
            written(data) { $0.take(.application("Gi=31;OK")) }.hasPrefix(
                start + "\u{1B}_Ga=T,f=24,s=160,v=160,c=16,r=8"))
        #expect(written(data) { $0.take(.control("?62;4", "c")) }.hasPrefix(start + "\u{1B}P0;1;0q\"1;1;160;160"))
        let blocks = written(data) { _ in }
        #expect(blocks.hasPrefix(start + "\u{1B}[38;5;196;48;5;196m▀") && blocks.contains("\u{1B}[12;61H"))
        #expect(!blocks.contains("\u{1B}[13;61H"))
        #expect(written(Data([1, 2, 3])) { _ in }.contains("cannot be"))
    }
}
