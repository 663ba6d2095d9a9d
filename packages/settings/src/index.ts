export { Ajv2020, addFormats } from './ajv.ts'
export {
  diffSettings,
  type PlannedSettings,
  planSettings,
  type SettingInForce,
  type SettingsChange,
  settingsInForce,
  writeSettings,
} from './change-settings.ts'
export { lineOf } from './config-error.ts'
export { DEFAULT_CONFIG_FILE } from './config-sources.ts'
export { valueAt } from './config-tree.ts'
export { findSections, readSection } from './find-sections.ts'
export {
  type CertificateFiles,
  isLoopback,
  type ListenAddress,
  parseListenAddress,
  readCertificateFiles,
} from './forms.ts'
export { type ConfigOptions, checkConfig, type LoadedConfig, loadConfig } from './load-config.ts'
export { claimedTwice, leavesOf, mergedSchema } from './schema-tree.ts'
export type { Section } from './section.ts'
export { createSchemaCompiler } from './validate.ts'
