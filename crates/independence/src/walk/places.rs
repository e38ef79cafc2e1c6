//! Places: where they can be, and what reading and writing them does to what is known.

use super::{Env, Known, MAX_SPOTS, Memory, Name, Region, Spot, Values, Walk, Walked};
use crate::walk::Complex;
use ergodic_ir::{Place, Root, ScalarType, Step, Type, TypeId};

impl<'a> Walk<'a> {
    /// Evaluates the indices of a place: where it can be, and its type.
    pub(super) fn place(&mut self, place: &'a Place) -> Walked<(Region, TypeId)> {
        let (mut region, mut ty) = self.root(place.root)?;
        for step in &place.path {
            self.spend(region.spots.len() as u64)?;
            ty = match (step, self.ty(ty)?) {
                (Step::Field(field), Type::Record { fields, .. }) => {
                    let inner = fields.get(*field as usize).ok_or(Complex)?.ty;
                    self.narrow(&mut region, &[self.layout.field(ty, *field)], inner);
                    inner
                }
                (Step::Index { index, .. }, Type::Array { index: over, elem }) => {
                    let values = self.expr(index)?;
                    self.element(&mut region, ty, (*over, *elem), &values)?;
                    *elem
                }
                (Step::Slot { slot, .. }, Type::Multiset { elem, .. }) => {
                    self.expr(slot)?;
                    // Whether the slot is filled is looked at, and it can be any.
                    self.note_read(&region)?;
                    region.exact = false;
                    *elem
                }
                _ => return Err(Complex),
            };
        }
        Ok((region, ty))
    }

    fn root(&mut self, root: Root) -> Walked<(Region, TypeId)> {
        match root {
            Root::Global(id) => {
                let ty = self.program.globals.get(id.0 as usize).ok_or(Complex)?.ty;
                let start = self.layout.global(id);
                let end = start + self.layout.bits(ty);
                Ok((Region::at(Spot { memory: Memory::State, start, end }), ty))
            }
            Root::Local(id) => {
                let ty = self.frame.locals.get(id.0 as usize).ok_or(Complex)?.ty;
                match self.env.names.get(&(self.frame.number, id.0)) {
                    Some(Name::Place(region)) => Ok((region.clone(), ty)),
                    _ => Err(Complex),
                }
            }
        }
    }

    /// Goes from places to parts of theirs, at some offsets.
    fn narrow(&self, region: &mut Region, offsets: &[usize], inner: TypeId) {
        if !region.exact {
            return;
        }
        let bits = self.layout.bits(inner);
        let part = |spot: &Spot, offset: usize| {
            let start = spot.start + offset;
            Spot { start, end: start + bits, ..*spot }
        };
        let parts = region.spots.iter().flat_map(|spot| offsets.iter().map(|o| part(spot, *o)));
        region.spots = parts.collect();
    }

    fn element(
        &mut self,
        region: &mut Region,
        array: TypeId,
        (over, elem): (TypeId, TypeId),
        values: &Values,
    ) -> Walked<()> {
        let Type::Scalar(index) = self.ty(over)? else { return Err(Complex) };
        let count = values.ordinals(index).map_or(index.count(), |list| list.len() as u64);
        if count.saturating_mul(region.spots.len() as u64) > MAX_SPOTS as u64 {
            // Too many to be told apart: somewhere in the array.
            region.exact = false;
            return Ok(());
        }
        self.spend(count)?;
        let ordinals = values.ordinals(index).unwrap_or_else(|| (0..index.count()).collect());
        let stride = self.layout.stride(array);
        let offsets: Vec<usize> = ordinals.iter().map(|i| *i as usize * stride).collect();
        self.narrow(region, &offsets, elem);
        Ok(())
    }

    /// Notes that a place is read.
    pub(super) fn note_read(&mut self, region: &Region) -> Walked<()> {
        self.spend(region.spots.len() as u64)?;
        let spots = region.spots.iter().filter(|spot| spot.memory == Memory::State);
        self.touched.reads.extend(spots.map(|spot| (spot.start, spot.end)));
        Ok(())
    }

    /// Notes that a place is written; nothing is known about it then.
    pub(super) fn note_write(&mut self, region: &Region) -> Walked<()> {
        self.spend(region.spots.len() as u64)?;
        let spots = region.spots.iter().filter(|spot| spot.memory == Memory::State);
        self.touched.writes.extend(spots.map(|spot| (spot.start, spot.end)));
        region.spots.iter().for_each(|spot| self.env.forget(*spot));
        Ok(())
    }

    /// What a scalar place can hold.
    pub(super) fn held(&self, region: &Region, ty: TypeId) -> Known {
        let anything = || Known {
            values: Values::of_type(&self.program.types, ty),
            undefined: self.undefinable(ty),
        };
        region.address().and_then(|at| self.env.cells.get(&at).cloned()).unwrap_or_else(anything)
    }

    fn undefinable(&self, ty: TypeId) -> bool {
        let ty = self.program.types.get(ty.0 as usize);
        !matches!(ty, Some(Type::Scalar(ScalarType { undefinable: false, .. })))
    }

    /// Writes a scalar or real.
    pub(super) fn put(&mut self, region: &Region, ty: TypeId, known: Known) -> Walked<()> {
        self.note_write(region)?;
        let values = known.values.within(&self.program.types, ty);
        self.set_cell(region, ty, Known { values, undefined: known.undefined });
        Ok(())
    }

    /// Remembers what a scalar holds, if its address is known.
    pub(super) fn set_cell(&mut self, region: &Region, ty: TypeId, known: Known) {
        let scalar = matches!(self.ty(ty), Ok(Type::Scalar(_)));
        if let (true, Some(at)) = (scalar, region.address()) {
            self.env.cells.insert(at, known);
        }
    }

    /// Copies what is known about a place to another of the same type, which was written.
    pub(super) fn copy_known(&mut self, from: &Region, to: &Region, source: &Env) -> Walked<()> {
        let (Some((memory, start)), Some(target)) = (from.address(), to.address()) else {
            return Ok(());
        };
        let end = from.spots[0].end;
        let cells: Vec<((Memory, usize), Known)> = source
            .cells
            .range((memory, start)..(memory, end))
            .map(|((_, bit), known)| ((target.0, target.1 + (bit - start)), known.clone()))
            .collect();
        self.spend(cells.len() as u64)?;
        self.env.cells.extend(cells);
        Ok(())
    }

    /// Whether a part of a place can belong to the state.
    pub(super) fn in_state(region: &Region) -> bool {
        region.spots.iter().any(|spot| spot.memory == Memory::State)
    }
}
