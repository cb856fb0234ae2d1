#if PostgreSQL
    import Foundation
    import OAuth2AccountStore
    import Testing

    @testable import PostgreSQLStorage

    /// Connections that break.
    @Suite(.enabled(if: TestServer.url != nil), .serialized, .timeLimit(.minutes(2)))
    struct BrokenConnectionTests {
        @Test func `a storage goes on after the server ended its connections`() async throws {
            let schema = TestSchema()
            let storage = try schema.storage()
            _ = try await storage.insert(record("a"))
            #expect(try schema.terminate("INTO \(schema.name).accounts") == .integer(1))
            #expect(try await storage.record("a")?.revision == 1)
            #expect(try schema.terminate("FROM \(schema.name).accounts") == .integer(1))
            #expect(try await storage.replace(record("a", revision: 2), kind: .tokens) == 2)
            #expect(try schema.terminate("UPDATE \(schema.name).accounts") == .integer(1))
            #expect(try await storage.remove("a") == 3)
            #expect(try await storage.changes(after: 0)?.map(\.kind) == [.added, .tokens, .removed])
        }

        @Test func `a change that the server took back is made once`() async throws {
            let schema = TestSchema()
            let storage = try schema.storage()
            _ = try await storage.insert(record("a"))
            // The first change from now on ends its own connection before it is saved. A sequence is not taken back.
            try TestServer.connect().execute(
                """
                CREATE SEQUENCE \(schema.name).times;
                CREATE FUNCTION \(schema.name).fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('\(schema.name).times') % 2 = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                    RETURN new;
                END $$;
                CREATE TRIGGER fail BEFORE INSERT ON \(schema.name).changes FOR EACH ROW
                    EXECUTE FUNCTION \(schema.name).fail();
                """)
            #expect(try await storage.replace(record("a", revision: 2, [2]), kind: .tokens) == 2)
            let added = try await storage.insert(record("b"))
            #expect(added.position == 2 && added.sequence == 3)
            #expect(try await storage.remove("a") == 4)
            #expect(try await storage.changes(after: 0)?.map(\.sequence) == [1, 2, 3, 4])
        }

        @Test func `a change whose answer was lost is not made again, and its sequence is found`() async throws {
            let schema = TestSchema()
            let proxy = try Proxy(to: TestServer.url)
            let storage = try schema.storage(TestServer.url { $0.port = Int(proxy.port) })
            // So that every statement is prepared: what the proxy keeps back is then the answer to the change itself.
            _ = try await storage.insert(record("a"))
            _ = try await storage.replace(record("a", revision: 2), kind: .tokens)
            _ = try await storage.insert(record("b"))
            _ = try await storage.remove("b")
            proxy.loseNextAnswer()
            #expect(try await storage.replace(record("a", revision: 3, [3]), kind: .userData) == 5)
            #expect(proxy.lost == 1)
            #expect(try await storage.record("a")?.sealed == [3])
            _ = try await storage.replace(record("a", revision: 4), kind: .tokens)
            _ = try await storage.insert(record("c"))
            proxy.loseNextAnswer()
            let added = try await storage.insert(record("d"))
            #expect(added.position == 4 && added.sequence == 8)
            _ = try await storage.remove("c")
            proxy.loseNextAnswer()
            #expect(try await storage.remove("d") == 10)
            #expect(try await storage.changes(after: 0)?.map(\.sequence) == (1...10).map { $0 })
            #expect(proxy.lost == 3)
        }

        @Test func `a change is told as uncertain when nobody can say whether it was made`() async throws {
            let schema = TestSchema()
            let proxy = try Proxy(to: TestServer.url)
            let storage = try PostgreSQLStorage(
                connection: TestServer.url { $0.port = Int(proxy.port) }, schema: schema.name, sleep: { _ in })
            _ = try await storage.insert(record("a"))
            _ = try await storage.replace(record("a", revision: 2), kind: .tokens)
            proxy.loseNextAnswer(andCloseFor: true)
            let error = await #expect(throws: StorageError.self) {
                try await storage.replace(record("a", revision: 3), kind: .tokens)
            }
            #expect(error?.reason.contains("the last change was made or not") == true)
            #expect(try await schema.storage().record("a")?.revision == 3)
        }

        @Test func `the locks of a broken connection are free for others and again the holder's`() async throws {
            let schema = TestSchema()
            let (storage, other) = (try schema.storage(), try schema.storage())
            _ = try await storage.insert(record("a"))
            let key = try PostgreSQLSchema(schema.name, place: "").lockKey("a")
            let pid = """
                SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
                AND (classid::bigint << 32 | objid::bigint) = \(key)
                """
            let kept = try await storage.lock("a", timeout: .zero)
            #expect(
                try schema.ask("SELECT count(pg_terminate_backend(pid, 10000)) FROM (\(pid)) AS holders") == .integer(1)
            )
            // The holder's session is made anew with its next lock, and has all that nobody took.
            try await storage.lock("b", timeout: .zero).release()
            await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .zero) }
            #expect(
                try schema.ask("SELECT count(pg_terminate_backend(pid, 10000)) FROM (\(pid)) AS holders") == .integer(1)
            )
            let taken = try await other.lock("a", timeout: .zero)
            // Both believe to hold it: only one saves.
            #expect(try await other.replace(record("a", revision: 2, [2]), kind: .tokens) == 2)
            #expect(try await storage.replace(record("a", revision: 2, [3]), kind: .tokens) == nil)
            kept.release()
            await #expect(throws: StorageError.self) { try await storage.lock("a", timeout: .zero) }
            taken.release()
            try await storage.lock("a", timeout: .seconds(30)).release()
        }

        @Test func `who watches is told when listening begins anew`() async throws {
            let schema = TestSchema()
            let (storage, other) = (try schema.storage(), try schema.storage())
            _ = try await other.insert(record("a"))
            let (told, continuation) = AsyncStream.makeStream(of: Void.self)
            let watch = try storage.watch { continuation.yield() }
            var calls = told.makeAsyncIterator()
            _ = await calls.next()
            #expect(try schema.terminate("LISTEN \(schema.name)") == .integer(1))
            // Nothing changed, and yet it is told.
            _ = await calls.next()
            _ = try await other.insert(record("b"))
            _ = await calls.next()
            watch?.release()
            // Nobody listens any more; the session ends on its own.
            while try schema.ask(
                "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query = 'LISTEN ~'")
                != .integer(0)
            { await Task.yield() }
        }
    }
#endif
