// On Linux, URLSession is in a separate module. On Darwin, it is in Foundation.

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif
