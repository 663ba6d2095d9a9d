/** A certificate that cannot be read or is not what it should be. The message says what is wrong with it. */
export class X509Error extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'X509Error'
  }
}
