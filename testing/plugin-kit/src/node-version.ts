/** The first Node that runs TypeScript as it is, with what the service needs. */
const LEAST_MAJOR = 24

/** Why this Node runs no plugin's tests, and what to do; undefined when it does. */
export function nodeProblem(version: string, path: string): string | undefined {
  if (Number.parseInt(version, 10) >= LEAST_MAJOR) return undefined
  return `a plugin needs Node ${LEAST_MAJOR}; ${path} is ${version}. Put one first on the PATH: a build of Steeple has it in bin/`
}
