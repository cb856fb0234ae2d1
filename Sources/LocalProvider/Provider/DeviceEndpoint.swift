import Platform
import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// A device that waits for a person with a browser.
struct DeviceRequest: Sendable, Equatable {
    enum Decision: Sendable, Equatable {
        case waiting
        case denied
        case approved(grant: String)
    }

    var clientID: String
    var scopes: [String]
    var userCode: String
    var expiresAt: Int
    /// Seconds that the device has to leave between two questions.
    var interval: Int
    var nextPollAt: Int
    var decision = Decision.waiting
}

// Device authorization. RFC 8628.
extension ProviderState {
    /// Letters that are no vowels, so that no words come about, and that look like nothing else. RFC 8628 section 6.1.
    private static let userCodeLetters = Array("BCDFGHJKLMNPQRSTVWXZ")

    func deviceAuthorization(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            let form = try form(request)
            let client = try client(form, request.fields)
            let scopes = try Scopes.read(form["scope"] ?? "openid")
            let (deviceCode, userCode) = (try newToken(), try newUserCode())
            let now = now
            let interval = Int(clamping: max(1, configuration.devicePollingInterval.components.seconds))
            let device = DeviceRequest(
                clientID: client.id, scopes: scopes, userCode: userCode, expiresAt: now + Grants.pendingLifetime,
                interval: interval, nextPollAt: now)
            state.withLock { $0.grants.devices[deviceCode] = device }
            if scopes.contains("openid") { startMakingKey() }
            return .json([
                "device_code": .string(deviceCode), "user_code": .string(userCode),
                "verification_uri": .string(issuer + "/device"),
                "verification_uri_complete": .string(issuer + "/device?user_code=\(userCode)"),
                "expires_in": .number(JSONNumber(Int64(Grants.pendingLifetime))),
                "interval": .number(JSONNumber(Int64(interval))),
            ])
        } catch {
            return failure(error)
        }
    }

    /// Eight letters in two groups.
    private func newUserCode() throws(OAuthFailure) -> String {
        var letters = ""
        while letters.count < 8 {
            let bytes: [UInt8]
            do {
                bytes = try configuration.randomBytes(16)
            } catch {
                throw .server
            }
            guard !bytes.isEmpty else { throw .server }
            // 240 is the last multiple of 20 that a byte reaches: larger ones would favour some letters.
            for byte in bytes where byte < 240 && letters.count < 8 {
                letters.append(Self.userCodeLetters[Int(byte) % Self.userCodeLetters.count])
            }
        }
        return "\(letters.prefix(4))-\(letters.suffix(4))"
    }

    // MARK: The person

    /// The page on which the person types the code and decides.
    func devicePage(_ parameters: FormFields?, problem: String? = nil) -> LoopbackResponse {
        devicePage(userCode: parameters?["user_code"], problem: problem)
    }

    func decideDevice(_ request: LoopbackRequest) -> LoopbackResponse {
        if let site = request.fields["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            return errorPage("This request came from another site.", status: 403)
        }
        let form: FormFields
        do throws(OAuthFailure) {
            form = try self.form(request)
        } catch {
            return errorPage(error.description)
        }
        // People type codes in their own way.
        let typed = (form["user_code"] ?? "").uppercased().filter { $0.isLetter }
        let now = now
        let found = state.withLock { state in
            state.grants.devices.first { _, device in
                device.decision == .waiting && device.expiresAt > now && device.userCode.filter { $0 != "-" } == typed
            }
        }
        guard let (deviceCode, device) = found else {
            return devicePage(userCode: form["user_code"], problem: "No device waits with this code. Look at it again.")
        }
        guard form["decision"] == "approve" else {
            state.withLock { $0.grants.devices[deviceCode]?.decision = .denied }
            return messagePage("Denied", "The device is told so. You can close this page.")
        }
        guard let person = contents.index(signingInAs: form.personName) else {
            return devicePage(
                userCode: form["user_code"], problem: "Nobody here has that name. Choose one, or type another.")
        }
        let grant: String
        do throws(OAuthFailure) {
            grant = try newToken()
        } catch {
            return errorPage(error.description, status: 500)
        }
        let authorization = Authorization(
            clientID: device.clientID, person: person, scopes: device.scopes, nonce: nil, authenticatedAt: now)
        state.withLock { state in
            state.grants.grants[grant] = Grants.Grant(authorization: authorization)
            state.grants.devices[deviceCode]?.decision = .approved(grant: grant)
        }
        return messagePage("Signed in", "The device goes on by itself. You can close this page.")
    }

    // MARK: The device

    /// Turns a device code into a grant, or says what the device has to wait for.
    func redeemDeviceCode(_ form: FormFields, _ client: RegisteredClient) throws(OAuthFailure) -> String {
        guard let code = form["device_code"] else { throw .invalidRequest("device_code is missing.") }
        let now = now
        let result: Result<String, OAuthFailure> = state.withLock { state in
            guard var device = state.grants.devices[code], device.clientID == client.id else {
                return .failure(.invalidGrant("The device code is unknown or was used before."))
            }
            func fail(_ error: String, _ description: String) -> Result<String, OAuthFailure> {
                .failure(OAuthFailure(code: error, description: description))
            }
            guard device.expiresAt > now else {
                state.grants.devices[code] = nil
                return fail("expired_token", "The device code has expired.")
            }
            switch device.decision {
            case .approved(let grant):
                state.grants.devices[code] = nil
                return .success(grant)
            case .denied:
                state.grants.devices[code] = nil
                return fail("access_denied", "The person said no.")
            case .waiting:
                let isTooFast = now < device.nextPollAt
                if isTooFast { device.interval += 5 }
                device.nextPollAt = now + device.interval
                state.grants.devices[code] = device
                return isTooFast
                    ? fail("slow_down", "Ask five seconds later each time from now on.")
                    : fail("authorization_pending", "The person has not decided.")
            }
        }
        return try result.get()
    }
}
