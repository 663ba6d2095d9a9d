import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { Truth } from './truth.tsx'

/** The first screen: what is, and what needs somebody. */
export function Page() {
  return (
    <>
      <h1>{t('home.title')}</h1>
      <Truth state={tx.value} />
    </>
  )
}
