import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ROOT } from '../harness/launch.ts'

/** Where the pictures are. */
export const FOLDER: string = join(ROOT, 'docs/images/console')
/** Where pages are looked at. */
export const PLACES = [
  { name: 'desk', width: 1_280, height: 900 },
  { name: 'phone', width: 360, height: 740 },
] as const
/** Quality of the pictures: what is smaller shows at letters. */
const QUALITY = 60
const SETTLED_MS = 700

/** What a picture differs by from others of the same page. */
type Look = `${(typeof PLACES)[number]['name']}-${'light' | 'dark'}`

/** Pictures of what is shown now, once it is drawn. */
export async function take(
  page: Page,
  name: string,
  { heading, looks }: { readonly heading?: string; readonly looks?: readonly Look[] } = {},
): Promise<void> {
  const protocol = await page.context().newCDPSession(page)
  for (const { name: place, width, height } of PLACES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const look: Look = `${place}-${colorScheme}`
      if (looks?.includes(look) === false) continue
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page
        .getByRole('heading', { level: 1, ...(heading === undefined ? {} : { name: heading }) })
        .waitFor()
      // What a page reads when it comes into view is there by then: the service is on this machine.
      await page.waitForTimeout(SETTLED_MS)
      const { data } = await protocol.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
      writeFileSync(join(FOLDER, `${name}-${look}.webp`), Buffer.from(data, 'base64'))
    }
  }
  await protocol.detach()
}
