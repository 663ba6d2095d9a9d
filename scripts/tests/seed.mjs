// Loaded before a test file when SVC_TEST_SEED is set: the properties of fast-check draw their cases from it.
import { findPackageJSON } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// As the test file will resolve it, so that this is the same instance. A package without properties does not have it.
const found = packageOf('fast-check')
if (found !== undefined) {
  const { default: fc } = await import(new URL('lib/fast-check.js', pathToFileURL(found)))
  fc.configureGlobal({ seed: Number(process.env.SVC_TEST_SEED) })
}

function packageOf(name) {
  try {
    return findPackageJSON(name, pathToFileURL(join(process.cwd(), 'package.json')))
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
