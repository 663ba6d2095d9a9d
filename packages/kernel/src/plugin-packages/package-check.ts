import type { Manifest } from '@steeple/contracts'
import { Ajv2020 } from '@steeple/settings'
import type { Options, ValidateFunction } from 'ajv'
import PACKAGE_SCHEMA from './package-schema.json' with { type: 'json' }

/** What `package-schema.json` guarantees. */
export interface PluginPackage {
  readonly name: string
  readonly version: string
  readonly exports: unknown
  readonly steeple: Manifest
}

/** Checking and optimising the schema takes longer than all its use. */
export const PACKAGE_CHECK_OPTIONS: Options = {
  allErrors: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

let compiled: ValidateFunction<PluginPackage> | undefined

/**
 * The check of `package-schema.json`, which never changes: each plugin that is installed or packed asks for it. The build of this package has
 * it compiled (see `tsup.config.ts`), since each start would compile it again.
 */
export function packageCheck(): ValidateFunction<PluginPackage> {
  compiled ??= new Ajv2020(PACKAGE_CHECK_OPTIONS).compile<PluginPackage>(PACKAGE_SCHEMA)
  return compiled
}
