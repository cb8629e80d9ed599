//! Requests in flight, in slots that are used again.

/// Values by slot. An index is checked once, so that a request costs little.
#[derive(Debug)]
pub(crate) struct OpenRequests<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> OpenRequests<T> {
    pub fn new() -> Self {
        OpenRequests {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn add(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            slot
        } else {
            self.values.push(value);
            (self.values.len() - 1) as u32
        }
    }

    /// Marks the slot as free; its value stays until the slot is used again.
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    pub fn in_use(&self) -> usize {
        self.values.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for OpenRequests<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for OpenRequests<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }
}
