import LodgePlatform
import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// A device that waits for the user's approval in a browser.
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
    /// The minimum number of seconds between two polls.
    var interval: Int
    var nextPollAt: Int
    var decision = Decision.waiting
}

// Device authorization. See RFC 8628.
extension ProviderState {
    /// Consonants that do not resemble other characters, so that codes contain no words. See RFC 8628 section 6.1.
    private static let userCodeLetters = Array("BCDFGHJKLMNPQRSTVWXZ")

    func deviceAuthorization(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            let form = try form(request)
            let client = try client(form, request.fields)
            try client.requireGrantType(Self.deviceGrantType)
            let scopes = try readScopes(form["scope"] ?? "openid")
            let (deviceCode, userCode) = (try newToken(), try newUserCode())
            let now = now
            let interval = Int(clamping: max(1, configuration.devicePollingInterval.components.seconds))
            var device = DeviceRequest(
                clientID: client.id, scopes: scopes, userCode: userCode, expiresAt: now + Grants.pendingLifetime,
                interval: interval, nextPollAt: now)
            if configuration.approvesRequests {
                device.decision = .approved(
                    grant: try newGrant(device, user: try approvingUser(hint: form["login_hint"])))
            }
            state.withLock { [device] in $0.grants.devices[deviceCode] = device }
            if scopes.contains("openid") { createKey() }
            return .json([
                "device_code": .string(deviceCode), "user_code": .string(userCode),
                "verification_uri": .string(origin + "/device"),
                "verification_uri_complete": .string(origin + "/device?user_code=\(userCode)"),
                "expires_in": .integer(Grants.pendingLifetime),
                "interval": .integer(interval),
            ])
        } catch {
            return failure(error)
        }
    }

    /// Returns eight letters in two groups.
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
            // 240 is the largest multiple of 20 in a byte: larger values would favor some letters.
            for byte in bytes where byte < 240 && letters.count < 8 {
                letters.append(Self.userCodeLetters[Int(byte) % Self.userCodeLetters.count])
            }
        }
        return "\(letters.prefix(4))-\(letters.suffix(4))"
    }

    // MARK: The user

    func decideDevice(_ request: LoopbackRequest) -> LoopbackResponse {
        page { () throws(OAuthFailure) in try decideDevice(try decision(request)) }
    }

    private func decideDevice(_ form: FormFields) throws(OAuthFailure) -> LoopbackResponse {
        // Accept any case and separator.
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
            return messagePage("Denied", "The device receives the decision. You can close this page.")
        }
        guard let user = contents.index(signingInAs: form.userName) else {
            return devicePage(userCode: form["user_code"], problem: Self.unknownUser)
        }
        let grant = try newGrant(device, user: user)
        state.withLock { $0.grants.devices[deviceCode]?.decision = .approved(grant: grant) }
        return messagePage("Signed in", "The device continues automatically. You can close this page.")
    }

    /// Creates a grant for an approved device and returns its identifier.
    private func newGrant(_ device: DeviceRequest, user: Int) throws(OAuthFailure) -> String {
        let grant = try newToken()
        let authorization = Authorization(
            clientID: device.clientID, user: user, scopes: device.scopes, nonce: nil, authenticatedAt: now)
        state.withLock { $0.grants.grants[grant] = Grants.Grant(authorization: authorization) }
        return grant
    }

    // MARK: The device

    /// Exchanges a device code for a grant.
    ///
    /// - Throws: ``OAuthFailure`` with the state of the approval.
    func redeemDeviceCode(_ form: FormFields, _ client: LocalClient) throws(OAuthFailure) -> String {
        guard let code = form["device_code"] else { throw .invalidRequest("device_code is missing.") }
        let now = now
        return try state.withLock { state throws(OAuthFailure) in
            guard var device = state.grants.devices[code], device.clientID == client.id else {
                throw OAuthFailure.invalidGrant("The device code is unknown or was used before.")
            }
            guard device.expiresAt > now else {
                state.grants.devices[code] = nil
                throw OAuthFailure(code: "expired_token", description: "The device code has expired.")
            }
            switch device.decision {
            case .approved(let grant):
                state.grants.devices[code] = nil
                return grant
            case .denied:
                state.grants.devices[code] = nil
                throw OAuthFailure(code: "access_denied", description: "The user denied the request.")
            case .waiting:
                let isTooFast = now < device.nextPollAt
                if isTooFast { device.interval += 5 }
                device.nextPollAt = now + device.interval
                state.grants.devices[code] = device
                throw isTooFast
                    ? OAuthFailure(code: "slow_down", description: "Ask five seconds later each time from now on.")
                    : OAuthFailure(code: "authorization_pending", description: "The user has not decided yet.")
            }
        }
    }
}
