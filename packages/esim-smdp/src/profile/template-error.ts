/** What is wrong in a template, and where. */
export interface TemplateFault {
  /** Offset of the object that is wrong, in octets from the start of the file. */
  readonly offset: number
  /** Where that is, in words: `usim (element 8) / ef-imsi / fillFileContent`. */
  readonly path: string
  /** What is wrong there. */
  readonly what: string
}

/** A profile template that is of no use. */
export class TemplateError extends Error implements TemplateFault {
  readonly offset: number
  readonly path: string
  readonly what: string

  constructor(fault: TemplateFault, options?: ErrorOptions) {
    super(`offset ${fault.offset}, ${fault.path}: ${fault.what}`, options)
    this.name = 'TemplateError'
    this.offset = fault.offset
    this.path = fault.path
    this.what = fault.what
  }
}
