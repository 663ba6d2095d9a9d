// The one copy of ajv and of its formats in a process. It lies in a file of its own beside this package: to load the hundred that it comes in
// takes four times as much of a start.
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export { Ajv2020 }

/** Has an instance know the formats of JSON Schema, and the keywords that compare them. */
export function addFormats(ajv: Ajv2020): void {
  formats.default(ajv)
}
