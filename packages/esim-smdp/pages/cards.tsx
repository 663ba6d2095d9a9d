import {
  addStyle,
  api,
  Button,
  ButtonLink,
  EmptyState,
  ErrorNotice,
  filter,
  OnlyHere,
  type Problem,
  Progress,
  QrCode,
  Time,
  t,
  useEffect,
  useState,
} from '@steeple/console/kit'
import { type Activation, type Code, isOpen } from './code.tsx'
import css from './esim.css'

addStyle(css)

interface Card {
  readonly token: string
  readonly qrText: string
  readonly activationCode: string
  readonly label: string
  readonly iccidLast4: string
  readonly isConfirmed: boolean
  readonly expiresAt: string
}

/** The cards that have been read; `total` is how many there will be. */
interface Cards {
  readonly cards: readonly Card[]
  readonly total: number | undefined
  readonly error: Problem | undefined
}

/** Codes that are asked for at once. */
const ABREAST = 6

/** Reads the cards of a batch, or of one code, and tells how far it is, in the order of the codes. */
async function readCards(
  batch: string,
  token: string,
  signal: AbortSignal,
  tell: (cards: Cards) => void,
): Promise<void> {
  if (batch === '' && token === '') return tell({ cards: [], total: 0, error: undefined })
  const codes = batch === '' ? await oneCode(token) : await codesOf(batch)
  if (signal.aborted) return
  if ('code' in codes) return tell({ cards: [], total: undefined, error: codes })
  const open = codes.filter(isOpen)
  const total = open.length
  let cards: readonly Card[] = []
  tell({ cards, total, error: undefined })
  while (cards.length < total) {
    const part = await Promise.all(open.slice(cards.length, cards.length + ABREAST).map(cardOf))
    if (signal.aborted) return
    const error = part.find((card): card is Problem => 'code' in card)
    cards = [...cards, ...part.filter((card): card is Card => !('code' in card))]
    tell({ cards, total, error })
    if (error !== undefined) return
  }
}

async function oneCode(token: string): Promise<readonly Code[] | Problem> {
  const answer = await api.get('/v1/esim/codes/{token}', { path: { token } })
  return answer.ok ? [answer.data] : answer.error
}

async function codesOf(batch: string): Promise<readonly Code[] | Problem> {
  let codes: readonly Code[] = []
  let cursor: string | null = null
  do {
    const page: { cursor?: string } = cursor === null ? {} : { cursor }
    const answer = await api.get('/v1/esim/codes', { query: { batch_id: batch, limit: 500, ...page } })
    if (!answer.ok) return answer.error
    codes = [...codes, ...answer.data.codes]
    cursor = answer.data.next_cursor
  } while (cursor !== null)
  return codes
}

async function cardOf(code: Code): Promise<Card | Problem> {
  const [activation, sim] = await Promise.all([
    api.get('/v1/esim/codes/{token}/qr', { path: { token: code.token } }),
    api.get('/v1/sims/{imsi}', { path: { imsi: code.imsi_sha256_12 } }),
  ])
  if (!activation.ok) return activation.error
  const { qr_text: qrText, activation_code: activationCode } = activation.data as Activation // of the answers the JSON
  return {
    token: code.token,
    qrText,
    activationCode,
    label: (sim.ok ? sim.data.label : null) ?? 'eSIM',
    iccidLast4: code.iccid_last4,
    isConfirmed: code.confirmation_required,
    expiresAt: code.expires_at,
  }
}

/** Cards to print: one for each code of a batch that can still be used, or one for a single code. */
export function Page() {
  const [batch, code] = [filter('batch'), filter('code')]
  const [cards, setCards] = useState<Cards>({ cards: [], total: undefined, error: undefined })
  useEffect(() => {
    const ending = new AbortController()
    void readCards(batch, code, ending.signal, setCards)
    return () => ending.abort()
  }, [batch, code])
  const isDone = cards.total !== undefined && cards.cards.length >= cards.total
  return (
    <>
      <h1 class="no-print">{t('esim.cards.title')}</h1>
      <div class="toolbar no-print">
        <Button
          icon="printer"
          kind="primary"
          isDisabled={!isDone || cards.cards.length === 0}
          onClick={() => print()}
        >
          {t('esim.cards.print')}
        </Button>
        <ButtonLink href={batch === '' ? '/esim' : `/esim?batch_id=${batch}`}>{t('esim.codes')}</ButtonLink>
      </div>
      <ErrorNotice error={cards.error} />
      {isDone || cards.error !== undefined ? null : (
        <Progress
          label={t('app.loading')}
          {...(cards.total === undefined ? {} : { value: cards.cards.length, max: cards.total })}
        />
      )}
      {isDone && cards.cards.length === 0 ? (
        <EmptyState title={t('esim.cards.none')}>
          {t(batch === '' && code === '' ? 'esim.cards.unchosen' : 'esim.cards.none.help')}
        </EmptyState>
      ) : null}
      {cards.cards.length === 0 ? null : <p class="fine no-print">{t('esim.code.secret')}</p>}
      <OnlyHere text={cards.cards[0]?.activationCode ?? ''}>{t('esim.code.here')}</OnlyHere>
      <ul class="sheet">
        {cards.cards.map((card) => (
          <li key={card.token}>
            <CardToPrint card={card} />
          </li>
        ))}
      </ul>
    </>
  )
}

function CardToPrint({ card }: { readonly card: Card }) {
  return (
    <article class="print-card">
      <QrCode text={card.qrText} what={t('esim.code.title', { iccid: card.iccidLast4 })} />
      <div>
        <h2>{card.label}</h2>
        <p>{t('esim.card.iccid', { iccid: card.iccidLast4 })}</p>
        <p class="fine">
          {t('esim.card.how')} <Time at={card.expiresAt} dateOnly />
        </p>
        {card.isConfirmed ? <p class="fine">{t('esim.card.confirmation')}</p> : null}
      </div>
      <code>{card.activationCode}</code>
    </article>
  )
}
