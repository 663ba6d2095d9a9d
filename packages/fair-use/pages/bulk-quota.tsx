import {
  api,
  Button,
  bytesText,
  ErrorNotice,
  FormDialog,
  may,
  Notice,
  type Problem,
  type Sim,
  t,
  toast,
  useState,
} from '@steeple/console/kit'
import { bytesOf } from './amount.tsx'
import { bodyOf, EMPTY_WISH, type Wish, WishFields } from './quota-dialogs.tsx'

/** Requests under way at a time. */
const AT_ONCE = 4

/** Sets one quota for all SIMs that are selected. */
export function Panel({ sims, onDone }: { readonly sims: readonly Sim[]; readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  // One that is revoked has none.
  const live = sims.filter(({ state }) => state !== 'revoked')
  if (!may('operator') || live.length === 0) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('quota.set')}</Button>
      {isOpen ? <BulkQuotaDialog sims={live} onDone={onDone} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function BulkQuotaDialog({
  sims,
  onDone,
  onClose,
}: {
  readonly sims: readonly Sim[]
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const [wish, setWish] = useState<Wish>(EMPTY_WISH)
  const [left, setLeft] = useState<readonly Sim[]>(sims)
  const [error, setError] = useState<Problem>()
  const wished = bytesOf(wish)
  // Of a SIM that has no quota yet the list has what this month came to.
  const used = wish.amount === '' ? [] : left.filter(({ usage_bytes: bytes }) => bytes >= wished)
  const act = async (): Promise<undefined> => {
    const [unset, problem] = await setAll(left, wish)
    setLeft(unset)
    setError(problem)
    if (problem !== undefined) return
    toast({ text: t('quota.bulk.done', { count: sims.length, quota: bytesText(wished) }) })
    onClose()
    onDone()
  }
  return (
    <FormDialog
      title={t('quota.bulk.title', { count: left.length })}
      confirm={t('quota.save')}
      act={act}
      onClose={onClose}
    >
      <WishFields wish={wish} onChange={(part) => setWish({ ...wish, ...part })} />
      {used.length === 0 || wish.action === 'alert' ? null : (
        <Notice tone="warn">{t(`quota.bulk.tight.${wish.action}`, { count: used.length })}</Notice>
      )}
      <ErrorNotice error={error} />
    </FormDialog>
  )
}

/** Sets it for each, some at a time. Gives those that were refused, and why the first was. */
async function setAll(
  sims: readonly Sim[],
  wish: Wish,
): Promise<readonly [left: readonly Sim[], problem: Problem | undefined]> {
  const left: Sim[] = []
  let problem: Problem | undefined
  for (let at = 0; at < sims.length; at += AT_ONCE) {
    const some = sims.slice(at, at + AT_ONCE)
    const answers = await Promise.all(
      some.map(({ imsi_sha256_12: imsi }) =>
        api.post('/v1/sims/{imsi}/quota', { path: { imsi }, body: bodyOf(wish) }),
      ),
    )
    for (const [index, answer] of answers.entries()) {
      if (answer.ok) continue
      left.push(...some.slice(index, index + 1))
      problem ??= answer.error
    }
  }
  return [left, problem]
}
