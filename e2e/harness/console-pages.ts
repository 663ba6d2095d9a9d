import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './launch.ts'

/** A page of the console, as the console itself lists it. */
export interface ListedPage {
  /** `/sims/:hash` */
  readonly path: string
  readonly role: string
}

/** Texts of the console in one language, by key. */
export type ListedTexts = Readonly<Record<string, string>>

/** Every page that the console has, as its areas and the manifests of plugins list them: none is forgotten. */
export async function consolePages(): Promise<readonly ListedPage[]> {
  const areas = (await ofConsole('pages/*/pages.ts')) as readonly Readonly<
    Record<string, readonly ListedPage[]>
  >[]
  const ofPlugins = globSync(join(ROOT, 'packages/*/package.json')).flatMap(
    (file): readonly ListedPage[] => JSON.parse(readFileSync(file, 'utf8')).steeple?.pages ?? [],
  )
  return [...areas.flatMap((area) => Object.values(area).flat()), ...ofPlugins]
}

/** All texts of the console, English and German. */
export async function consoleTexts(): Promise<{ readonly en: ListedTexts; readonly de: ListedTexts }> {
  return { en: await textsOf('en'), de: await textsOf('de') }
}

async function textsOf(language: string): Promise<ListedTexts> {
  // The console's and those of each plugin, as its build finds them.
  const files = globSync(join(ROOT, `packages/*/texts/${language}.json`)).sort()
  if (files.length < 2) throw new Error(`no package has texts/${language}.json`)
  return Object.assign({}, ...files.map((file) => JSON.parse(readFileSync(file, 'utf8'))))
}

/** Modules of the console's source, found by their names as its build finds them. */
function ofConsole(names: string): Promise<readonly unknown[]> {
  const files = globSync(join(ROOT, 'packages/console/src', names)).sort()
  if (files.length === 0) throw new Error(`the console has no ${names}`)
  return Promise.all(files.map((file) => import(pathToFileURL(file).href)))
}
