/** Something of a bound profile package that does not hold. `what` says it in words, without any key or octet of the profile. */
export class BspError extends Error {
  readonly what: string

  constructor(what: string, options?: ErrorOptions) {
    super(what, options)
    this.name = 'BspError'
    this.what = what
  }
}
