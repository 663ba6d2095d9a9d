export { type Blame, createBlame } from './blame.ts'
export { Catalogue } from './catalogue.ts'
export { createContentRecord } from './content-hash.ts'
export { hostContracts } from './contracts-copy.ts'
export {
  asFailure,
  configRemedy,
  type Failures,
  inStep,
  isWaitingForConfig,
  noteFailure,
  reasonOf,
} from './failure.ts'
export { hangNoteOf, sayHang } from './hang-note.ts'
export { type InstalledPlugin, installPackage, installPlugin } from './install.ts'
export { createKeptStates, ENDED, type KeptStates, RAN } from './kept-states.ts'
export { createLoader } from './loader.ts'
export { createManifestReader, type FoundPlugin, type RejectedPlugin } from './manifest.ts'
export { inDependencyOrder } from './order.ts'
export { type PackedPlugin, packPlugin } from './pack.ts'
export type { SignaturePolicy } from './signature.ts'
export { keyId, makeSigningKey, readSigningKey } from './signing-key.ts'
export { installedName, type PluginSources, scanSources } from './sources.ts'
