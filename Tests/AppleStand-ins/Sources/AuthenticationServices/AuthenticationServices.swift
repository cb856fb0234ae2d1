// A stand-in for the AuthenticationServices framework.

@_exported import Foundation
