import { createSchemaChecks, type SchemaChecks } from '@steeple/api'
import type { JsonSchema } from '@steeple/contracts'

/**
 * Checks that know a schema again by what it says: each start of a plugin makes the schemas of its routes anew, and to compile
 * them took a fifth of a testbed's start. They live as long as the process.
 */
export function sharedChecks(): SchemaChecks {
  const checks = createSchemaChecks()
  const byText = new Map<string, JsonSchema>()
  const bySchema = new WeakMap<JsonSchema, JsonSchema>()
  const first = (schema: JsonSchema): JsonSchema => {
    const known = bySchema.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema)
    const same = byText.get(text) ?? schema
    byText.set(text, same)
    bySchema.set(schema, same)
    return same
  }
  return {
    isNew: (source, schema) => checks.isNew(source, first(schema)),
    check: (source, schema) => checks.check(source, first(schema)),
    checkLater: (source, schema) => checks.checkLater(source, first(schema)),
    prove: (source, schema) => checks.prove(source, first(schema)),
    renew: () => checks.renew(),
  }
}
